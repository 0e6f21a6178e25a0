import { setTimeout as pause } from 'node:timers/promises';
import { send } from '../helpers/router-harness';

export interface RouterLoadOptions {
  /** `host:port` of the router. */
  readonly router: string;
  readonly model: string;
  /** Clients that each send one request after the other. */
  readonly clients: number;
  readonly maxTokens: number;
  /** Time between the end of a request and the next one. @default 0 */
  readonly pauseMs?: number;
}

/** Clients of a router that never stop asking, and keep a record of whatever is not an answer. */
export class RouterLoad {
  /** Requests that were answered whole, with status 200. */
  answered = 0;
  readonly failures: string[] = [];
  /** The longest time that a client had to wait for a whole answer. */
  longestMs = 0;
  private isOver = false;
  private readonly clients: Promise<unknown>;

  constructor(private readonly options: RouterLoadOptions) {
    this.clients = Promise.all(Array.from({ length: options.clients }, () => this.ask()));
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.clients;
  }

  private async ask(): Promise<void> {
    const { router, model, maxTokens, pauseMs = 0 } = this.options;
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: maxTokens });
    while (!this.isOver) {
      const startedMs = performance.now();
      try {
        const answer = await send(`http://${router}`, '/v1/chat/completions', body);
        if (answer.status === 200 && !answer.isCut) this.answered += 1;
        else this.failures.push(`${answer.status} ${answer.body}`);
      } catch (error) {
        this.failures.push(String(error));
      }
      this.longestMs = Math.max(this.longestMs, performance.now() - startedMs);
      await pause(pauseMs);
    }
  }
}
