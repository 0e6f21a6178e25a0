import { Agent, type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Clock } from '../../lib/clock';

export type ReadText = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'failed'; readonly reason: string };

/** An answer with the time at which it was given. */
export type ReadDated =
  | { readonly kind: 'text'; readonly text: string; readonly dateMs?: number }
  | Extract<ReadText, { kind: 'failed' }>;

export interface ReadOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Connections of the URL's protocol. @default one for each answer: a pod is asked so seldom that it would close an idle one */
  readonly agent?: Agent;
}

/** A metrics page of a large engine is below 1 MiB; what is larger is none. */
const MAX_LENGTH = 16 * 1024 * 1024;

/** However fast the clock runs, a real answer over a real socket gets this much real time. */
const LEAST_REAL_MS = 250;

/**
 * Reads texts over HTTP, a bounded number at a time, each within a deadline.
 *
 * With Node's own client, which reads all sockets into one buffer: thousands of pods are asked in a round, and clients that keep connections and
 * buffers for each of them need several times the memory.
 */
export class HttpReader {
  private readonly agent = new Agent();
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
  async readDated(url: string, options: ReadOptions = {}): Promise<ReadDated> {
    if (this.running >= this.options.concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running += 1;
    try {
      return await this.readNow(url, options);
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    this.agent.destroy();
  }

  private readNow(url: string, { headers = {}, agent }: ReadOptions): Promise<ReadDated> {
    const { timeoutMs } = this.options;
    if (!URL.canParse(url)) return Promise.resolve({ kind: 'failed', reason: 'is no URL' });
    return new Promise((resolve) => {
      const failed = (reason: string): void => settle({ kind: 'failed', reason });
      const isTls = url.startsWith('https:');
      const chosen = agent ?? (isTls ? undefined : this.agent);
      const asked = (isTls ? requestTls : request)(url, { headers, ...(chosen && { agent: chosen }) });
      const cancel = atDeadline(this.clock, timeoutMs, () => failed(`gave no answer within ${timeoutMs} ms`));
      const settle = (answer: ReadDated): void => {
        cancel();
        resolve(answer);
        if (answer.kind === 'failed') asked.destroy();
      };
      asked.on('response', (answer) => readBody(answer, settle, failed));
      asked.on('error', (error) => failed(reasonOf(error)));
      asked.end();
    });
  }
}

function readBody(answer: IncomingMessage, settle: (answer: ReadDated) => void, failed: (reason: string) => void): void {
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) {
    failed(`answered ${statusCode}`);
    return;
  }
  let text = '';
  answer.setEncoding('utf8');
  answer.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > MAX_LENGTH) failed(`answered more than ${MAX_LENGTH} characters`);
  });
  answer.on('error', (error) => failed(reasonOf(error)));
  answer.on('end', () => {
    const dateMs = Date.parse(answer.headers.date ?? '');
    settle({ kind: 'text', text, ...(!Number.isNaN(dateMs) && { dateMs }) });
  });
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
