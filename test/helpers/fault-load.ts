import { Agent, request as httpRequest } from 'node:http';
import { performance } from 'node:perf_hooks';
import { MODEL } from './router-harness';

/** How one request of a load ended for its client. */
export type ClientEnd = {
  readonly number: number;
  readonly streams: boolean;
  readonly tookMs: number;
} & (
  | { readonly kind: 'answered'; readonly status: number; readonly body: string; readonly isCut: boolean }
  /** No answer at all. */
  | { readonly kind: 'broken'; readonly message: string }
);

export interface FaultLoadOptions {
  readonly port: number;
  readonly clients: number;
  /** @param number of the request. */
  readonly headersOf?: (number: number) => Record<string, string>;
}

/** Clients that ask one thing after the other until they are told to stop. Every second answer streams. */
export class FaultLoad {
  readonly ends: ClientEnd[] = [];
  private next = 0;
  private isOn = true;
  private readonly agent: Agent;
  private readonly done: Promise<unknown>;

  constructor(private readonly options: FaultLoadOptions) {
    this.agent = new Agent({ keepAlive: true, maxSockets: options.clients });
    this.done = Promise.all(Array.from({ length: options.clients }, () => this.client()));
  }

  /** Resolves when every client has its last answer. */
  async stop(): Promise<readonly ClientEnd[]> {
    this.isOn = false;
    await this.done;
    this.agent.destroy();
    return this.ends;
  }

  private async client(): Promise<void> {
    while (this.isOn) this.ends.push(await askNumbered(this.options, this.next++, this.agent));
  }
}

/** Sends one numbered request. @param agent whose connections are used. @default a connection of its own */
export function askNumbered(
  { port, headersOf }: Pick<FaultLoadOptions, 'port' | 'headersOf'>,
  number: number,
  agent?: Agent,
  streams = number % 2 === 0,
): Promise<ClientEnd> {
  const body = JSON.stringify({
    model: MODEL,
    max_tokens: 8,
    ...(streams ? { stream: true } : {}),
    messages: [{ role: 'user', content: `request ${number} ${'word '.repeat(20)}` }],
  });
  const headers = { 'content-type': 'application/json', 'x-request-id': `load-${number}`, ...headersOf?.(number) };
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const end = (how: { kind: 'answered'; status: number; body: string; isCut: boolean } | { kind: 'broken'; message: string }) =>
      resolve({ number, streams, tookMs: performance.now() - startedMs, ...how });
    const request = httpRequest(
      { agent: agent ?? false, host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        const answered = (isCut: boolean): void => end({ kind: 'answered', status: response.statusCode!, body: text, isCut });
        response.on('end', () => answered(false));
        response.on('error', () => answered(true));
      },
    );
    request.on('error', (error) => end({ kind: 'broken', message: error.message }));
    request.end(body);
  });
}
