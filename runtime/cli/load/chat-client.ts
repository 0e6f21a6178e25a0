import { Pool } from 'undici';
import type { Clock } from '../../lib/clock';
import { formatAddress, type ListenAddress } from '../../lib/http-listen';

/** How one streamed chat request went, in the clock's milliseconds. */
export interface ChatResult {
  readonly status: number;
  /** Undefined when it went well; else the error's message. */
  readonly error?: string;
  /** From sending to the first token of the answer. */
  readonly ttftMs: number;
  readonly e2eMs: number;
  readonly text: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Undefined when the engine does not say. */
  readonly cachedTokens?: number;
}

interface ChatChunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  } | null;
  readonly error?: { readonly message?: string };
}

/** Sends streamed chat completions to one router and reads their events. */
export class ChatClient {
  private readonly pool: Pool;

  constructor(
    private readonly clock: Clock,
    router: ListenAddress,
  ) {
    this.pool = new Pool(`http://${formatAddress(router)}`, { connections: 512, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** @param body an OpenAI chat completion request; `stream` and `stream_options` are set here. */
  async send(body: object, signal?: AbortSignal): Promise<ChatResult> {
    const started = this.clock.monotonic();
    const elapsed = (): number => this.clock.monotonic() - started;
    let ttftMs = Number.NaN;
    let text = '';
    let usage: ChatChunk['usage'];
    let error: string | undefined;
    let status = 0;
    try {
      const response = await this.pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
        ...(signal === undefined ? {} : { signal }),
      });
      status = response.statusCode;
      if (status !== 200) {
        error = messageOf(await response.body.text());
      } else {
        let isDone = false;
        for await (const data of events(response.body)) {
          if (data === '[DONE]') {
            isDone = true;
            continue;
          }
          const chunk = JSON.parse(data) as ChatChunk;
          if (chunk.error !== undefined) error = chunk.error.message ?? 'error event';
          const content = chunk.choices?.[0]?.delta?.content;
          if (typeof content === 'string' && content !== '') {
            if (Number.isNaN(ttftMs)) ttftMs = elapsed();
            text += content;
          }
          usage = chunk.usage ?? usage;
        }
        if (!isDone && error === undefined) error = 'the stream ended without [DONE]';
      }
    } catch (cause) {
      error = cause instanceof Error ? cause.message : String(cause);
    }
    const cachedTokens = usage?.prompt_tokens_details?.cached_tokens;
    return {
      status,
      ttftMs,
      e2eMs: elapsed(),
      text,
      promptTokens: usage?.prompt_tokens ?? 0,
      completionTokens: usage?.completion_tokens ?? 0,
      ...(cachedTokens === undefined ? {} : { cachedTokens }),
      ...(error === undefined ? {} : { error }),
    };
  }

  close(): Promise<void> {
    return this.pool.destroy();
  }
}

/** The `data:` payloads of a server-sent event stream. */
async function* events(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
  }
  if (rest.startsWith('data:')) yield rest.slice(5).trim();
}

function messageOf(body: string): string {
  try {
    const parsed = JSON.parse(body) as { error?: { message?: string } };
    return parsed.error?.message ?? body;
  } catch {
    return body;
  }
}
