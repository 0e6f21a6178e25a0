import type { Decision } from '../../runtime/router/observability/decision-ring';
import { ANSWER_TOKENS } from './fault-engine';
import type { ClientEnd } from './fault-load';
import { send, type TestEngine, type TestRouter, until } from './router-harness';

/** How long traffic to a pod that is known to be dead may go on. */
const DEAD_GRACE_MS = 1_000;

/** A time during which the router knew of an endpoint that it is dead: ejected, not ready, or gone. Unix milliseconds. */
export interface DeadSpell {
  readonly endpoint: string;
  readonly fromMs: number;
  toMs: number;
}

export interface FaultObservations {
  readonly router: TestRouter;
  readonly engines: readonly TestEngine[];
  readonly ends: readonly ClientEnd[];
  /** Every attempt's. */
  readonly decisions: readonly Decision[];
  readonly deadSpells: readonly DeadSpell[];
}

/** What a client can make of what it got. */
export type Verdict =
  | { readonly kind: 'whole' | 'told'; readonly from: string | undefined }
  | { readonly kind: 'lost'; readonly why: string };

/**
 * Reads an answer as a client does. `whole`: everything an engine said. `told`: an error that the client sees, alone or after a part.
 * `lost`: anything else, such as a part without an error, words of another request, or words of two engines.
 */
export function verdictOf(end: ClientEnd): Verdict {
  if (end.kind === 'broken') return { kind: 'lost', why: `no answer: ${end.message}` };
  if (end.status !== 200)
    return isError(end.body) && !end.isCut
      ? { kind: 'told', from: undefined }
      : { kind: 'lost', why: `status ${end.status} without an error: ${end.body.slice(0, 200)}` };
  const { content, isEnded, error } = end.streams ? readStream(end.body) : readDocument(end.body);
  const words = content.split(' ').filter((word) => word !== '');
  const from = words[0]?.split(':')[1];
  // A document that was cut may end inside a word.
  const wholeWords = end.isCut ? words.slice(0, -1) : words;
  const foreign = wholeWords.find((word, k) => word !== `${end.number}:${from}:${k}`);
  if (foreign !== undefined) return { kind: 'lost', why: `${foreign} in the answer to ${end.number}: ${content}` };
  if (isEnded && !error && !end.isCut && words.length === ANSWER_TOKENS) return { kind: 'whole', from };
  if (error !== isEnded || (end.isCut && !end.streams)) return { kind: 'told', from };
  return { kind: 'lost', why: `a part, and no error: ${end.body.slice(-300)}` };
}

/** Fails where a fault broke what must hold after every fault. */
export async function expectInvariants(seen: FaultObservations): Promise<void> {
  const { router, engines, ends, decisions, deadSpells } = seen;
  const verdicts = ends.map((end) => ({ end, verdict: verdictOf(end) }));
  expect(verdicts.flatMap(({ verdict }) => (verdict.kind === 'lost' ? [verdict.why] : []))).toEqual([]);

  await expectNothingHeld(router);
  await until(() => engines.every(({ active }) => active === 0), 'every engine was let go');

  const attempts = new Map<string, Decision[]>();
  for (const decision of decisions) attempts.set(decision.requestId, [...(attempts.get(decision.requestId) ?? []), decision]);
  // Words that reached a client are the last attempt's, or the request was tried again after them.
  const triedAfterFirstByte = verdicts.flatMap(({ end, verdict }) => {
    if (verdict.kind === 'lost' || verdict.from === undefined) return [];
    const tried = (attempts.get(`load-${end.number}`) ?? []).map(({ endpoint }) => endpoint);
    return tried.at(-1)?.startsWith(`default/pod-${verdict.from}#`) ? [] : [{ number: end.number, from: verdict.from, tried }];
  });
  expect(triedAfterFirstByte).toEqual([]);

  const half = Math.floor(engines.length / 2);
  const ejected = decisions.map(({ explanation }) => explanation.removed.outlier?.length ?? 0);
  expect(Math.max(0, ...ejected)).toBeLessThanOrEqual(half);

  const toTheDead = decisions.filter((decision) => {
    const atMs = Date.parse(decision.at);
    const dead = deadSpells.filter(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
    // With more dead than may be ejected, somebody has to be asked.
    if (dead.length > half) return false;
    return dead.some(({ endpoint, fromMs }) => endpoint === decision.endpoint && atMs > fromMs + DEAD_GRACE_MS);
  });
  expect(toTheDead.map(({ at, endpoint }) => ({ at, endpoint }))).toEqual([]);
}

/** Fails unless every counter of requests is back at zero. */
export async function expectNothingHeld({ router }: TestRouter): Promise<void> {
  await until(() => router.load().activeRequests === 0 && router.load().exchanges === 0, 'every request is over');
  expect(router.load()).toEqual({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0, reservedLimits: 0, queued: 0 });
  for (const { endpoint, inFlight, queuedTokens } of router.endpoints.all())
    expect({ endpoint: endpoint.id, inFlight, queuedTokens }).toEqual({ endpoint: endpoint.id, inFlight: 0, queuedTokens: 0 });
  const { host, port } = router.metricsAddress;
  const { body } = await send(`http://${host}:${port}`, '/metrics');
  const gauges = body.split('\n').filter((line) => /^kthena_router_active_/.test(line));
  expect(gauges.length).toBeGreaterThan(0);
  expect(gauges.filter((line) => !line.endsWith(' 0'))).toEqual([]);
}

interface Read {
  readonly content: string;
  /** It ended as a whole answer does. */
  readonly isEnded: boolean;
  readonly error: boolean;
}

function readStream(body: string): Read {
  let content = '';
  let error = false;
  for (const part of body.split('\n\n')) {
    if (!part.startsWith('data: {')) continue;
    if (isError(part.slice(6))) error = true;
    // A part of an event, as where an engine's own length cut it.
    else if (isJson(part.slice(6))) content += (JSON.parse(part.slice(6)) as Chunk).choices[0]?.delta?.content ?? '';
  }
  return { content, isEnded: body.endsWith('data: [DONE]\n\n'), error };
}

interface Chunk {
  readonly choices: readonly { readonly delta?: { readonly content?: string } }[];
}

function readDocument(body: string): Read {
  const content = /"content":"([^"]*)/.exec(body)?.[1] ?? '';
  return { content, isEnded: isJson(body), error: false };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isError(text: string): boolean {
  if (!isJson(text)) return false;
  const { error } = JSON.parse(text) as { error?: { message?: unknown; type?: unknown } };
  return typeof error?.message === 'string' && typeof error.type === 'string';
}
