import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../../lib/clock';

export type ReadText = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'failed'; readonly reason: string };

/** An answer with the time at which it was given. */
export type ReadDated =
  | { readonly kind: 'text'; readonly text: string; readonly dateMs?: number }
  | Extract<ReadText, { kind: 'failed' }>;

export interface ReadOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** @default the reader's own connections */
  readonly dispatcher?: Dispatcher;
}

/** A metrics page of a large engine is below 1 MiB; what is larger is none. */
const MAX_BYTES = 16 * 1024 * 1024;

/** However fast the clock runs, a real answer over a real socket gets this much real time. */
const LEAST_REAL_MS = 250;

/** Reads texts over HTTP, a bounded number at a time, each within a deadline. */
export class HttpReader {
  private readonly agent = new Agent({ connections: 2, keepAliveTimeout: 4000, pipelining: 1 });
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  constructor(
    private readonly clock: Clock,
    private readonly options: { readonly timeoutMs: number; readonly concurrency: number },
  ) {}

  /** GETs `url`. Anything but a 2xx answer with a whole body in time has failed. */
  async read(url: string): Promise<ReadText> {
    const answer = await this.readDated(url);
    return answer.kind === 'text' ? { kind: 'text', text: answer.text } : answer;
  }

  /** As `read`, over connections and with headers of the caller's, and with the time by the clock of who answered. */
  async readDated(url: string, { headers, dispatcher }: ReadOptions = {}): Promise<ReadDated> {
    if (this.running >= this.options.concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running += 1;
    try {
      return await this.readNow(url, headers, dispatcher);
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async readNow(url: string, headers: ReadOptions['headers'], dispatcher: Dispatcher = this.agent): Promise<ReadDated> {
    const { timeoutMs } = this.options;
    const controller = new AbortController();
    const cancel = atDeadline(this.clock, timeoutMs, () => controller.abort());
    try {
      const answer = await request(url, {
        dispatcher,
        ...(headers && { headers }),
        signal: controller.signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      if (answer.statusCode < 200 || answer.statusCode > 299) {
        await answer.body.dump();
        return { kind: 'failed', reason: `answered ${answer.statusCode}` };
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) return { kind: 'failed', reason: `answered more than ${MAX_BYTES} bytes` };
        chunks.push(chunk);
      }
      const dateMs = Date.parse(String(answer.headers.date ?? ''));
      return { kind: 'text', text: Buffer.concat(chunks).toString('utf8'), ...(!Number.isNaN(dateMs) && { dateMs }) };
    } catch (error) {
      if (controller.signal.aborted) return { kind: 'failed', reason: `gave no answer within ${timeoutMs} ms` };
      return { kind: 'failed', reason: reasonOf(error) };
    } finally {
      cancel();
    }
  }
}

function atDeadline(clock: Clock, timeoutMs: number, expire: () => void): () => void {
  const startedAt = performance.now();
  let rest: NodeJS.Timeout | undefined;
  const timer = clock.after(timeoutMs, () => {
    rest = setTimeout(expire, Math.max(0, LEAST_REAL_MS - (performance.now() - startedAt)));
  });
  return () => {
    timer.cancel();
    clearTimeout(rest);
  };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  return code === undefined ? (message ?? String(error)) : `failed (${code})`;
}
