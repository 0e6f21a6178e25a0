import { setTimeout as wait } from 'node:timers/promises';
import type { KubeObject } from '../../../src/api/meta';
import { answersErrorEvent, become, DEADLY, diesOfBody, refuses, sizedWrong } from '../../helpers/engine-faults';
import type { FaultEngine } from '../../helpers/fault-engine';
import { askNumbered } from '../../helpers/fault-load';
import { LEAVING_STAGES, leaveAt } from '../../helpers/leaving-clients';
import { modelRoute, modelServer, pod } from '../../helpers/router-harness';
import type { RunningBenchRouter } from './bench-router';

/** What a fault may touch. */
export interface FaultSite {
  readonly router: RunningBenchRouter;
  readonly engines: readonly FaultEngine[];
  /** The first pod as it is, and what puts another in its place. */
  readonly first: KubeObject;
  replaceFirst(pod: KubeObject): void;
}

/** What goes wrong under load, beginning at once and going on until the signal says that it is over. */
export type LoopFault = (site: FaultSite, over: AbortSignal) => Promise<unknown> | unknown;

/** Clients that leave at a time at one stage, and between two such crowds. */
const LEAVERS = 10;
const LEAVING_MS = 20;
/** Between two bodies that kill. */
const DEADLY_MS = 200;

/** A router's objects in front of engines. */
export interface LoopObjects {
  readonly engines: readonly FaultEngine[];
  /** @default no limits */
  readonly route?: Parameters<typeof modelRoute>[2];
  /** The first pod: another one than before is a new endpoint, of which nothing bad is known. */
  readonly first: KubeObject;
}

export function loopObjects({ engines, route = {}, first }: LoopObjects): string {
  const pods = engines.slice(1).map(({ port }, index) => pod(`pod-${index + 1}`, 'server', port));
  return [modelServer('server'), modelRoute('route', 'server', route), first, ...pods]
    .map((each) => JSON.stringify(each))
    .join('\n---\n');
}

/** The first pod, as it is called in the row with a number. */
export function firstPod([engine]: readonly FaultEngine[], row: number): KubeObject {
  return pod('pod-0', 'server', engine!.port, `uid-${row}`);
}

async function repeat(over: AbortSignal, everyMs: number, work: () => Promise<unknown>): Promise<void> {
  while (!over.aborted) {
    await work();
    await wait(everyMs);
  }
}

const first =
  (fail: (engine: FaultEngine) => unknown): LoopFault =>
  ({ engines }) =>
    fail(engines[0]!);

/** Faults of engines and clients, by what is said of them. */
export const LOOP_FAULTS: Readonly<Record<string, LoopFault>> = {
  'no fault': () => undefined,
  'an engine is killed': first((engine) => engine.kill()),
  'an engine hangs before its answer': first((engine) => become(engine, () => undefined)),
  'an engine falls silent': first((engine) => engine.stall()),
  'an engine stalls after SIGTERM': (site) => {
    site.engines[0]!.stall();
    const metadata = { ...site.first.metadata, deletionTimestamp: new Date().toISOString() };
    site.replaceFirst({ ...site.first, metadata } as KubeObject);
  },
  'an engine accepts and resets': first((engine) => engine.acceptAndReset()),
  'an engine vanishes': first((engine) => engine.vanish()),
  'an engine is slow by 20': first((engine) => {
    engine.slowness = 20;
  }),
  'an engine says 429': first((engine) => become(engine, refuses(429))),
  'an engine says 500': first((engine) => become(engine, refuses(500))),
  'an engine says 503': first((engine) => become(engine, refuses(503))),
  'an engine says 200, then an error': first((engine) => become(engine, answersErrorEvent)),
  'an engine announces too much': first((engine) => become(engine, sizedWrong(-50))),
  'an engine announces too little': first((engine) => become(engine, sizedWrong(20))),
  'a pod is replaced on its address': ({ engines, replaceFirst }) => replaceFirst(firstPod(engines, -1)),
  'a body kills engines': ({ engines, router: { port } }, over) => {
    for (const engine of engines)
      become(
        engine,
        diesOfBody(() => undefined),
      );
    return repeat(over, DEADLY_MS, () => askNumbered({ port }, DEADLY));
  },
  'no engine can be scraped': ({ engines }) => {
    for (const engine of engines) engine.metricsAnswer = (response) => response.destroy();
  },
  'clients leave at every stage': ({ router: { port } }, over) =>
    Promise.all(
      LEAVING_STAGES.map(async ([, goOnUntil], index) => {
        await wait(index * LEAVING_MS);
        await repeat(over, LEAVING_STAGES.length * LEAVING_MS, () => leaveAt(port, LEAVERS, goOnUntil));
      }),
    ),
};
