import type { KubeObject } from '../../../src/api/meta';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { ApiAnswer } from './api-client';

type Failure = Exclude<ReadOutcome<never>, { kind: 'found' }> | { readonly kind: 'conflict' };

/** What an answer that is no success means. The statuses are those of Kubernetes' API conventions. */
export function failureOf(answer: ApiAnswer): Failure | undefined {
  if (answer.kind === 'unreachable') return { kind: 'unavailable', message: answer.message };
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  const message = messageOf(answer);
  if (status === 401 || status === 403) return { kind: 'forbidden', message };
  if (status === 404 || status === 410) return { kind: 'gone' };
  if (status === 409) return { kind: 'conflict' };
  if (status === 429) return { kind: 'throttled', afterMs: answer.retryAfterMs ?? 1000 };
  return status < 500 ? { kind: 'invalid', message } : { kind: 'unavailable', message };
}

/** How a read ended. */
export function readOutcomeOf<T>(answer: ApiAnswer, read: (body: unknown) => T): ReadOutcome<T> {
  const failure = failureOf(answer);
  if (failure === undefined) return { kind: 'found', value: read((answer as { readonly body: unknown }).body) };
  return failure.kind === 'conflict' ? { kind: 'unavailable', message: 'a read met a conflict' } : failure;
}

/** How a write ended. @param before resourceVersions of the object that is known to have been there already. */
export function writeOutcomeOf(answer: ApiAnswer, before: readonly (string | undefined)[]): WriteOutcome {
  const failure = failureOf(answer);
  if (failure !== undefined) return failure;
  const version = ((answer as { readonly body: unknown }).body as KubeObject).metadata.resourceVersion!;
  return { kind: before.includes(version) ? 'unchanged' : 'applied', version };
}

/** What the API server says in words. */
export function messageOf(answer: ApiAnswer): string {
  if (answer.kind === 'unreachable') return answer.message;
  const { body, status } = answer;
  const message = typeof body === 'object' && body !== null ? (body as { readonly message?: unknown }).message : body;
  return typeof message === 'string' && message.trim() !== '' ? message.trim() : `HTTP status ${status}`;
}
