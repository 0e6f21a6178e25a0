import type { GuardrailConfig } from '../../../src/config/guardrail-config';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Logger } from '../../lib/logger';
import type { Identity } from '../admission/identity';
import { RouterError } from '../errors';
import type { GuardrailMetrics } from '../observability/guardrail-metrics';
import type { IncomingRequest, ReadRequest } from '../request';
import { GuardedAnswer } from './guarded-answer';
import { GuardrailClient, type Verdict } from './guardrail-client';

export interface GuardrailsOptions {
  readonly config: Pick<RouterConfig, 'guardrail'>;
  readonly metrics: GuardrailMetrics;
  readonly log: Logger;
}

type Phase = GuardrailConfig['phases'][number];

/** Asks the guardrail service about requests and answers, as the configuration is when each is read. */
export class Guardrails {
  private current: { readonly config: GuardrailConfig; readonly client: GuardrailClient } | undefined;

  constructor(private readonly options: GuardrailsOptions) {}

  /** Judges a request, where it is to be judged. @throws RouterError (as a rejection) when it may not go on. */
  before(incoming: IncomingRequest, request: ReadRequest, identity: Identity): Promise<void> | undefined {
    const asked = this.askedFor(incoming, 'before');
    if (asked === undefined || request.head.api.use !== 'inference') return undefined;
    return this.judgeRequest(asked, incoming, request, identity);
  }

  /** What an answer goes through, where it is to be judged. @param onRefused nobody wants the rest of the answer. */
  after(incoming: IncomingRequest, { head }: ReadRequest, onRefused: () => void): GuardedAnswer | undefined {
    const asked = this.askedFor(incoming, 'after');
    if (asked === undefined) return undefined;
    const about = this.about(incoming, 'after');
    return new GuardedAnswer({
      answer: incoming.answer,
      api: head.api,
      config: asked.config,
      judge: async (texts, isWhole) => {
        const document = JSON.stringify({ ...about, texts, isWhole });
        return this.refusalOf(asked.config, 'after', await this.ask(asked.client, 'after', document));
      },
      failed: (reason) => {
        this.options.metrics.judged('after', 'failure');
        return this.refusalOf(asked.config, 'after', { kind: 'failure', reason });
      },
      onRefused,
    });
  }

  async close(): Promise<void> {
    await this.current?.client.close();
  }

  private async judgeRequest(
    { config, client }: NonNullable<Guardrails['current']>,
    incoming: IncomingRequest,
    { head, body }: ReadRequest,
    identity: Identity,
  ): Promise<void> {
    const about = JSON.stringify({ ...this.about(incoming, 'before'), user: identity.user });
    // The body was checked to be one JSON object; it is passed on as it came.
    const request = head.api.body === 'json' ? body.toString() : 'null';
    const document = `${about.slice(0, -1)},"request":${request}}`;
    const refusal = this.refusalOf(config, 'before', await this.ask(client, 'before', document));
    if (refusal !== undefined) throw refusal;
  }

  private about({ trace }: IncomingRequest, phase: Phase) {
    return { phase, requestId: trace.requestId, model: trace.model, path: trace.path };
  }

  private askedFor({ trace }: IncomingRequest, phase: Phase): Guardrails['current'] {
    const config = this.options.config.guardrail;
    if (config === undefined || !config.phases.includes(phase)) return undefined;
    if (config.models !== undefined && !config.models.includes(trace.model)) return undefined;
    if (this.current?.config !== config) {
      // Questions that are under way are answered by the old one first.
      const replaced = this.current?.client;
      if (replaced !== undefined) setTimeout(() => void replaced.close(), this.current!.config.timeoutMs).unref();
      this.current = { config, client: new GuardrailClient(config) };
    }
    return this.current;
  }

  private async ask(client: GuardrailClient, phase: Phase, document: string): Promise<Verdict> {
    const startedMs = performance.now();
    const verdict = await client.ask(document);
    this.options.metrics.judged(phase, verdict.kind);
    this.options.metrics.took(phase, (performance.now() - startedMs) / 1000);
    return verdict;
  }

  private refusalOf(config: GuardrailConfig, phase: Phase, verdict: Verdict): RouterError | undefined {
    const what = phase === 'before' ? 'the request' : 'the answer';
    switch (verdict.kind) {
      case 'allow':
        return undefined;
      case 'refuse':
        return new RouterError(
          'guardrail_refused',
          `${what} was refused${verdict.message === undefined ? '' : `: ${verdict.message}`}`,
        );
      case 'failure':
        this.options.log.warn({ phase, reason: verdict.reason, onFailure: config.onFailure }, 'the guardrail could not judge');
        return config.onFailure === 'allow'
          ? undefined
          : new RouterError('guardrail_unavailable', `${what} could not be checked`);
    }
  }
}
