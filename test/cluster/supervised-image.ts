import { setTimeout as pause } from 'node:timers/promises';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { ImageProcess, type LogLine } from './image-process';

/** Kubelets begin with ten seconds. */
const RESTART_MS = 500;

/** The router's or autoscaler's own program, started again whenever it ends, as a kubelet does. */
export class SupervisedImage {
  private readonly earlier: LogLine[] = [];
  private isClosed = false;
  private supervising: Promise<void>;
  /** How often it was started again. */
  restarts = 0;

  private constructor(
    private current: ImageProcess,
    private readonly start: () => Promise<ImageProcess>,
  ) {
    this.supervising = this.supervise();
  }

  static async start(
    part: 'router' | 'autoscaler',
    credentials: Credentials,
    config: object,
    flags: readonly string[] = [],
  ): Promise<SupervisedImage> {
    const start = (): Promise<ImageProcess> => ImageProcess.start(part, credentials, config, flags);
    return new SupervisedImage(await start(), start);
  }

  /** Lines of all its lives. */
  get log(): readonly LogLine[] {
    return [...this.earlier, ...this.current.log];
  }

  /** `host:port` of a listener of its present life. */
  address(listener: 'listen' | 'metrics' | 'debug'): string {
    return this.current.address(listener);
  }

  /** Ends it in peace. @returns its exit status. */
  async terminate(): Promise<number | null> {
    this.isClosed = true;
    this.current.signal('SIGTERM');
    return this.current.exited();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.current.close();
    await this.supervising;
  }

  private async supervise(): Promise<void> {
    for (;;) {
      await this.current.exited();
      if (this.isClosed) return;
      this.earlier.push(...this.current.log);
      await this.current.close();
      const next = await this.startAgain();
      if (next === undefined) return;
      this.current = next;
      if (this.isClosed) await next.close();
    }
  }

  /** @returns undefined when it was closed meanwhile. */
  private async startAgain(): Promise<ImageProcess | undefined> {
    while (!this.isClosed) {
      await pause(RESTART_MS);
      this.restarts += 1;
      try {
        return await this.start();
      } catch (error) {
        this.earlier.push({ level: 60, msg: String(error) });
      }
    }
    return undefined;
  }
}
