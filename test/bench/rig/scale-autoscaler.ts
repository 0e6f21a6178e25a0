/**
 * The autoscaler over a folder of manifests, with a look inside: how long and how much CPU time a round takes, how late the event loop is, and
 * what is written. Arguments: the objects' file, the configuration's file. Sends `ready`, and a `ScaledRound` after each round.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startAutoscaler } from '../../../runtime/autoscaler/autoscaler';
import type { AutoscalerCluster } from '../../../runtime/cluster/cluster';
import { openManifestCluster } from '../../../runtime/cluster/manifests';
import { silentLogger } from '../../../runtime/lib/logger';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { parseAutoscalerConfig } from '../../../src/config/autoscaler-config';

export interface ScaledRound {
  /** Policies that were decided on. */
  readonly policies: number;
  readonly replicas: number;
  /** From the start of the round until everything is observed and decided, and until everything is written and reported. */
  readonly decidedMs: number;
  readonly endedMs: number;
  /** Of the process in that time. */
  readonly decidedCpuMs: number;
  readonly cpuMs: number;
  /** Delay of the event loop during the round, 99th percentile and greatest. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  readonly heapMegabytes: number;
  readonly writes: readonly Written[];
}

export interface Written {
  readonly what: 'scale' | 'status' | 'pod' | 'event';
  readonly name: string;
}

const [objectsFile, configFile] = process.argv.slice(2);
let writes: Written[] = [];
let startedMs = 0;
let startedCpu = process.cpuUsage();
let decided = { policies: 0, replicas: 0, atMs: 0, cpuMs: 0 };
const delay = monitorEventLoopDelay({ resolution: 1 });

function cpuMs(): number {
  const { user, system } = process.cpuUsage(startedCpu);
  return (user + system) / 1000;
}

/** The same cluster; what is written is noted, and a round begins where it first looks. */
function observed(cluster: AutoscalerCluster): AutoscalerCluster {
  const note = (what: Written['what'], name: string): void => {
    writes.push({ what, name });
  };
  const { objects, scaling, status, pods, events } = cluster;
  return {
    ...cluster,
    objects: {
      list: (kind, query) => objects.list(kind, query),
      get: (kind, namespace, name) => objects.get(kind, namespace, name),
      changed: (kind, listener) => objects.changed(kind, listener),
      freshness: (kind) => {
        if (kind === 'AutoscalingPolicy') begin();
        return objects.freshness(kind);
      },
    },
    scaling: {
      read: (target) => scaling.read(target),
      set: (target, replicas, version) => {
        note('scale', target.name);
        return scaling.set(target, replicas, version);
      },
      setRoles: (target, replicas, version) => {
        note('scale', target.name);
        return scaling.setRoles(target, replicas, version);
      },
    },
    status: {
      report: (kind, object, value) => {
        note('status', object.metadata.name);
        return status.report(kind, object, value);
      },
    },
    pods: {
      mark: (namespace, name, uid, annotations) => {
        note('pod', name);
        return pods.mark(namespace, name, uid, annotations);
      },
    },
    events: {
      note: (regarding, type, reason, message) => {
        note('event', regarding.metadata.name);
        events.note(regarding, type, reason, message);
      },
    },
  };
}

function begin(): void {
  writes = [];
  decided = { policies: 0, replicas: 0, atMs: 0, cpuMs: 0 };
  startedMs = performance.now();
  startedCpu = process.cpuUsage();
  delay.reset();
  delay.enable();
}

function end(): void {
  delay.disable();
  process.send?.({
    policies: decided.policies,
    replicas: decided.replicas,
    decidedMs: decided.atMs,
    endedMs: performance.now() - startedMs,
    decidedCpuMs: decided.cpuMs,
    cpuMs: cpuMs(),
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
    heapMegabytes: process.memoryUsage().heapUsed / 2 ** 20,
    writes,
  } satisfies ScaledRound);
}

async function main(): Promise<void> {
  const decoded = parseAutoscalerConfig(readFileSync(configFile!, 'utf8'));
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  const clock = wallClock();
  const cluster = observed(await openManifestCluster({ paths: [objectsFile!], clock }));
  const policies = cluster.objects.list('AutoscalingPolicy').length;
  process.send?.('ready');
  await startAutoscaler({
    cluster,
    clock,
    config: decoded.config,
    log: silentLogger(),
    onDecision: ({ units }) => {
      if (decided.policies === 0) decided = { ...decided, atMs: performance.now() - startedMs, cpuMs: cpuMs() };
      decided.policies += 1;
      decided.replicas += units.reduce((sum, { desired }) => sum + desired, 0);
      if (decided.policies === policies) setImmediate(end);
    },
  });
}

process.on('disconnect', () => process.exit(0));
void main();
