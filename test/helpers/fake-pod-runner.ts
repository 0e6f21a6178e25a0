import type { PodRunner, RunningPod } from '../../runtime/cluster/pod-runner';
import type { Pod } from '../../src/api/pod';
import type { EnginePlan } from '../../src/expand/engine-plan';

/** A pod of a `FakePodRunner`, with what a test can make of it. */
export interface FakePod {
  readonly pod: Pod;
  readonly plan: EnginePlan | undefined;
  readonly podIP: string;
  /** Grace period that it was stopped with; undefined while it runs. */
  stoppedWithMs: number | undefined;
  becomeReady(): void;
  failToStart(message: string): void;
  exit(reason: string): void;
  /** Ends a stop that waits. */
  finishStop(): void;
}

/** Runs no process: pods get ready, exit and end when the test says so, or at once. */
export class FakePodRunner implements PodRunner {
  /** Every start, the latest last. */
  readonly starts: FakePod[] = [];
  isReadyAtOnce = true;
  isStoppedAtOnce = true;
  /** Message with which the next start is refused. */
  refusal: string | undefined;
  ports: Readonly<Record<number, number>> | undefined;

  /** What a start waits for. */
  mayStart: Promise<void> = Promise.resolve();

  async start(pod: Pod, plan: EnginePlan | undefined): Promise<RunningPod> {
    if (this.refusal !== undefined) {
      const message = this.refusal;
      this.refusal = undefined;
      throw new Error(message);
    }
    await this.mayStart;
    let becomeReady: () => void = () => undefined;
    let failToStart: (error: Error) => void = () => undefined;
    let exit: (end: { readonly reason: string }) => void = () => undefined;
    let finishStop: () => void = () => undefined;
    const whenReady = new Promise<void>((resolve, reject) => {
      becomeReady = resolve;
      failToStart = reject;
    });
    const exited = new Promise<{ readonly reason: string }>((resolve) => {
      exit = resolve;
    });
    const stopped = new Promise<void>((resolve) => {
      finishStop = resolve;
    });
    const podIP = `127.0.1.${this.starts.length + 1}`;
    const fake: FakePod = {
      pod,
      plan,
      podIP,
      stoppedWithMs: undefined,
      becomeReady,
      failToStart: (message) => failToStart(new Error(message)),
      exit: (reason) => exit({ reason }),
      finishStop,
    };
    this.starts.push(fake);
    if (this.isReadyAtOnce) becomeReady();
    return {
      podIP,
      ...(this.ports === undefined ? {} : { ports: this.ports }),
      ready: whenReady,
      exited,
      stop: (graceMs) => {
        fake.stoppedWithMs = graceMs;
        if (this.isStoppedAtOnce) finishStop();
        return stopped;
      },
    };
  }

  /** Ends every stop that waits, now and from now on. */
  release(): void {
    this.isStoppedAtOnce = true;
    for (const { finishStop } of this.starts) finishStop();
  }

  /** The latest start of a pod. */
  latest(name: string): FakePod {
    const found = this.starts.findLast(({ pod }) => pod.metadata.name === name);
    if (found === undefined) throw new Error(`pod ${name} was never started`);
    return found;
  }

  /** Names of pods that were started and not stopped, sorted. */
  running(): string[] {
    return this.starts
      .filter(({ stoppedWithMs }) => stoppedWithMs === undefined)
      .map(({ pod }) => pod.metadata.name)
      .sort();
  }
}
