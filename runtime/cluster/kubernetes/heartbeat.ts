import { type Clock, sleep } from '../../lib/clock';
import { wallClock } from '../../lib/wall-clock';
import type { ApiClient } from './api-client';

/** Bookmarks come once a minute; asking every few seconds tells sooner that the API is away. */
const PERIOD_MS = 5_000;
const TIMEOUT_MS = 4_000;

/** Asks again and again whether the API server and its store are well. Anybody may ask that of a server. */
export class Heartbeat {
  private readonly ending = new AbortController();
  private readonly running: Promise<void>;

  /** @param heard called after each good answer with the time, by `clock`, at which it was asked for. */
  constructor(
    private readonly client: ApiClient,
    private readonly clock: Clock,
    private readonly heard: (atMs: number) => void,
  ) {
    this.running = this.run();
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const real = wallClock();
    while (!this.ending.signal.aborted) {
      await sleep(real, PERIOD_MS, this.ending.signal);
      if (this.ending.signal.aborted) return;
      const askedMs = this.clock.monotonic();
      const answer = await this.client.request({ method: 'GET', path: '/readyz', timeoutMs: TIMEOUT_MS });
      if (answer.kind === 'answered' && answer.status === 200) this.heard(askedMs);
    }
  }
}
