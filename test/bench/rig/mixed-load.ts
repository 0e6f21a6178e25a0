import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'undici';
import type { Random } from '../../../runtime/lib/random';

const PATH = '/v1/chat/completions';
const WORDS = [
  'river',
  'stone',
  'winter',
  'market',
  'engine',
  'paper',
  'signal',
  'garden',
  'window',
  'copper',
  'letter',
  'harbor',
];
/** What clients do, by their share of all requests. */
const SHARES = {
  short: 0.45,
  long: 0.15,
  stream: 0.22,
  left: 0.06,
  huge: 0.02,
  unknownModel: 0.03,
  malformed: 0.04,
  unknownPath: 0.03,
} as const;

type Kind = keyof typeof SHARES;

/** Clients that send every kind of request again and again: answered, streamed, left in the middle, refused. No two prompts are equal. */
export class MixedLoad {
  /** Requests that ended, by kind. */
  readonly ended: Record<Kind, number> = {
    short: 0,
    long: 0,
    stream: 0,
    left: 0,
    huge: 0,
    unknownModel: 0,
    malformed: 0,
    unknownPath: 0,
  };
  private isRunning = false;
  private workers: Promise<void>[] = [];
  private failure: Error | undefined;

  /** @param pauseMs between the requests of one client. */
  constructor(
    private readonly port: number,
    private readonly random: Random,
    private readonly clients: number,
    private readonly pauseMs: number,
  ) {}

  start(): void {
    this.isRunning = true;
    this.workers = Array.from({ length: this.clients }, () => this.work());
  }

  /** Lets what is under way end. @throws when a request ended otherwise than its kind does. */
  async stop(): Promise<void> {
    this.isRunning = false;
    await Promise.all(this.workers);
    if (this.failure !== undefined) throw this.failure;
  }

  private async work(): Promise<void> {
    while (this.isRunning && this.failure === undefined) {
      // Connections come and go as well: each has some dozens of requests.
      const client = new Client(`http://127.0.0.1:${this.port}`);
      for (let left = 20 + Math.floor(40 * this.random.next()); left > 0 && this.isRunning; left--) {
        const kind = this.draw();
        try {
          await this.send(client, kind);
          this.ended[kind] += 1;
        } catch (error) {
          this.failure ??= new Error(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
        }
        await wait(this.pauseMs);
      }
      await client.close();
    }
  }

  private draw(): Kind {
    let left = this.random.next();
    for (const [kind, share] of Object.entries(SHARES)) {
      left -= share;
      if (left < 0) return kind as Kind;
    }
    return 'short';
  }

  private async send(client: Client, kind: Kind): Promise<void> {
    switch (kind) {
      case 'short':
        return this.ask(client, 200, this.chat(1000));
      case 'long':
        return this.ask(client, 200, this.chat(16_000));
      case 'huge':
        return this.ask(client, 200, this.chat(600_000));
      case 'stream':
        return this.ask(client, 200, this.chat(2000, { stream: true, chunks: 20, pace_ms: 5 }));
      case 'left':
        return this.leave(client);
      case 'unknownModel':
        return this.ask(client, 404, this.chat(1000, { model: `none-${Math.floor(1e6 * this.random.next())}` }));
      case 'malformed':
        return this.ask(client, 400, this.chat(1000).slice(0, -2));
      case 'unknownPath':
        return this.ask(client, 404, this.chat(1000), `/v1/nothing/${Math.floor(1e6 * this.random.next())}`);
    }
  }

  private async ask(client: Client, expected: number, body: string, path = PATH): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const { statusCode, body: answer } = await client.request({ method: 'POST', path, headers, body });
    const text = await answer.text();
    if (statusCode !== expected) throw new Error(`${statusCode} instead of ${expected}: ${text.slice(0, 300)}`);
  }

  /** Reads the beginning of a stream and goes. */
  private async leave(client: Client): Promise<void> {
    const body = this.chat(1000, { stream: true, pace_ms: 5 });
    const headers = { 'content-type': 'application/json' };
    const answer = await client.request({ method: 'POST', path: PATH, headers, body });
    for await (const _ of answer.body) break;
  }

  private chat(bytes: number, members: object = {}): string {
    const words: string[] = [];
    for (let length = 0; length < Math.min(bytes, 4000); ) {
      const word = WORDS[Math.floor(WORDS.length * this.random.next())]!;
      words.push(word);
      length += word.length + 1;
    }
    const text = words.join(' ');
    const content = text.repeat(Math.max(1, Math.round(bytes / text.length)));
    return JSON.stringify({ model: 'm', ...members, messages: [{ role: 'user', content }] });
  }
}
