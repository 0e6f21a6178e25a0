import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import type { GuardrailConfig } from '../../../src/config/guardrail-config';

/** What the service says, or why it said nothing. */
export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'refuse'; readonly message: string | undefined }
  | { readonly kind: 'failure'; readonly reason: string };

/** A verdict is a few words. */
const VERDICT_BYTES = 64 * 1024;
/** Of a message for the client. */
const MESSAGE_CHARACTERS = 1_000;

/** Asks a guardrail service, over connections that are kept. */
export class GuardrailClient {
  private agent: Promise<Agent> | undefined;

  constructor(private readonly config: Pick<GuardrailConfig, 'url' | 'timeoutMs' | 'tokenFile' | 'caFile'>) {}

  /** @param document JSON. Never rejects. */
  async ask(document: string): Promise<Verdict> {
    const { url, timeoutMs, tokenFile } = this.config;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
      if (tokenFile !== undefined) headers.authorization = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
      this.agent ??= this.open();
      const dispatcher = await this.agent;
      const response = await request(url, { dispatcher, method: 'POST', headers, body: document, signal });
      const text = await response.body.text();
      if (response.statusCode !== 200) return { kind: 'failure', reason: `it answered ${response.statusCode}` };
      return readVerdict(text);
    } catch (error) {
      if (signal.aborted) return { kind: 'failure', reason: `no verdict within ${timeoutMs} ms` };
      return { kind: 'failure', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  async close(): Promise<void> {
    const agent = await this.agent?.catch(() => undefined);
    await agent?.destroy();
  }

  private open(): Promise<Agent> {
    const opened = this.openAgent();
    // The file may be there at the next question.
    opened.catch(() => {
      this.agent = undefined;
    });
    return opened;
  }

  private async openAgent(): Promise<Agent> {
    const { caFile } = this.config;
    const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    return new Agent({ maxResponseSize: VERDICT_BYTES, connect: ca === undefined ? {} : { ca } });
  }
}

function readVerdict(text: string): Verdict {
  let verdict: unknown;
  try {
    verdict = JSON.parse(text);
  } catch {
    return { kind: 'failure', reason: 'its verdict is no JSON' };
  }
  const { action, message } = (verdict ?? {}) as { readonly action?: unknown; readonly message?: unknown };
  if (action === 'allow') return { kind: 'allow' };
  if (action !== 'refuse') return { kind: 'failure', reason: 'its verdict has no action "allow" or "refuse"' };
  return { kind: 'refuse', message: typeof message === 'string' ? message.slice(0, MESSAGE_CHARACTERS) : undefined };
}
