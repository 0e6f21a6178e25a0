import { errorDocument, RouterError, type RouterErrorCode, textOf } from '../errors';
import type { ExchangeOutcome } from '../relay/exchange-outcome';
import { answerHeaders } from './answer-headers';
import type { ProviderAnswer } from './provider-answer';

/** What Anthropic answers when it is overloaded; only its own clients know this status. */
const OVERLOADED = 529;

/**
 * How an exchange with a provider ended, as the client's business: that the provider refuses the router's credential is not the
 * client's fault, and what it says of it may hold a part of it; a redirect leads nowhere; an answer that could not be read is none.
 *
 * @param name `namespace/name` of the provider. @param isAnthropicClient the client knows Anthropic's statuses.
 */
export function providerOutcome(
  outcome: ExchangeOutcome,
  name: string,
  answer: Pick<ProviderAnswer, 'failure' | 'hasBegun'> | undefined,
  isAnthropicClient: boolean,
): ExchangeOutcome {
  const failure = answer?.failure;
  if (failure !== undefined && (outcome.kind === 'completed' || outcome.kind === 'client-left')) {
    // An answer that the translation ended looks like a client that left.
    if (answer?.hasBegun === true) return { ...outcome, kind: 'lost', reason: failure };
    if (outcome.kind === 'completed') return refusal(502, 'provider_answer', `external provider ${name}: ${failure}`);
  }
  if (outcome.kind !== 'refused') return outcome;
  const { status } = outcome;
  if (status === 401 || status === 403) {
    return refusal(502, 'provider_refused', `external provider ${name} refused the credential of the router`);
  }
  if (status < 400) return refusal(502, 'provider_answer', `external provider ${name} answered ${status}`);
  const told = status === OVERLOADED && !isAnthropicClient ? 503 : status;
  return { ...outcome, status: told, headers: answerHeaders(outcome.headers), isDraining: false, isDead: false };
}

function refusal(status: number, code: RouterErrorCode, what: string): ExchangeOutcome {
  const body = Buffer.from(JSON.stringify(errorDocument(textOf(new RouterError(code, what)), 'openai')));
  return { kind: 'refused', status, headers: [], body, isDraining: false, isDead: false };
}
