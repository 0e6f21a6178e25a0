import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Clock } from '../../lib/clock';
import { PageBuffers } from './page-buffers';
import { type Failed, PlainRead, type ReadText } from './plain-read';

/** An answer with the time at which it was given. */
export type ReadDated = { readonly kind: 'text'; readonly text: string; readonly dateMs?: number } | Failed;

/** What was made of a text, or why there was none. */
export type Read<T> = { readonly kind: 'read'; readonly value: T } | Failed;

export interface ReadOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Connections of the URL's protocol. @default one for each text: a pod is asked so seldom that it would close an idle one */
  readonly agent?: Agent;
}

/** A metrics page of a large engine is below 1 MiB; what is larger is none. */
const MAX_BYTES = 16 * 1024 * 1024;

/** However fast the clock runs, a real answer over a real socket gets this much real time. */
const LEAST_REAL_MS = 250;

/** Reads texts over HTTP, a bounded number at a time, each within a deadline. */
export class HttpReader {
  private readonly buffers = new PageBuffers();
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  constructor(
    private readonly clock: Clock,
    private readonly options: { readonly timeoutMs: number; readonly concurrency: number },
  ) {}

  /**
   * GETs `url`. Anything but a 2xx answer with a whole body in time has failed.
   *
   * @param parse gets the text in the turn in which it came, and nothing here keeps it: an object that is as old as the request would hold
   *   it until the next collection of everything, and thousands of pages with it.
   */
  read<T>(url: string, parse: (text: string) => T): Promise<Read<T>> {
    return this.inTurn<Read<T>>(url, (parsed, settle) => {
      const told = (answer: ReadText): void =>
        settle(answer.kind === 'failed' ? answer : { kind: 'read', value: parse(answer.text) });
      return parsed.protocol === 'http:' ? new PlainRead(parsed, this.buffers, MAX_BYTES, told) : readWithNode(parsed, {}, told);
    });
  }

  /** GETs a text over connections and with headers of the caller's, and with the time by the clock of who answered. */
  readDated(url: string, options: ReadOptions = {}): Promise<ReadDated> {
    return this.inTurn<ReadDated>(url, (parsed, settle) => readWithNode(parsed, options, settle));
  }

  private async inTurn<T>(
    url: string,
    begin: (url: URL, settle: (answer: T | Failed) => void) => { destroy(): unknown },
  ): Promise<T | Failed> {
    if (!URL.canParse(url)) return { kind: 'failed', reason: 'is no URL' };
    if (this.running >= this.options.concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running += 1;
    try {
      return await this.within((settle) => begin(new URL(url), settle));
    } finally {
      this.running -= 1;
      this.waiting.shift()?.();
    }
  }

  /** Gives up at the deadline. */
  private within<T>(begin: (settle: (answer: T | Failed) => void) => { destroy(): unknown }): Promise<T | Failed> {
    const { timeoutMs } = this.options;
    return new Promise((resolve) => {
      const cancel = atDeadline(this.clock, timeoutMs, () => {
        asked.destroy();
        resolve({ kind: 'failed', reason: `gave no answer within ${timeoutMs} ms` });
      });
      const asked = begin((answer) => {
        cancel();
        resolve(answer);
      });
    });
  }
}

function readWithNode(url: URL, { headers = {}, agent }: ReadOptions, settle: (answer: ReadDated) => void): ClientRequest {
  const asked = (url.protocol === 'https:' ? requestTls : request)(url, { headers, ...(agent && { agent }) });
  const failed = (reason: string): void => {
    settle({ kind: 'failed', reason });
    asked.destroy();
  };
  asked.on('response', (answer) => readBody(answer, settle, failed));
  asked.on('error', (error) => failed(reasonOf(error)));
  asked.end();
  return asked;
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
    if (text.length > MAX_BYTES) failed(`answered more than ${MAX_BYTES} bytes`);
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
