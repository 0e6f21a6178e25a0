import { compareVersions } from '../../../src/catalog/engines/version';
import type { BlockHashes } from '../cache/block-hashes';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import { ejectedMembers } from '../endpoints/outlier-ejection';
import type { AttemptContext } from './attempt-context';
import type { Attempts, NextAttempt, SchedulingRequest } from './attempts';
import type { Candidate, ScheduledRequest } from './candidate';
import { candidateOf } from './candidate-view';
import { LiveAttempt } from './live-attempt';
import { measuredSchedule, modelLabel } from './measured-schedule';
import type { Profile } from './profile';

/** Share of decisions made with seed rates: what learned rates say of a slow endpoint stays open to correction. */
export const EXPLORATION_RATIO = 0.01;

const NOBODY: readonly LiveEndpoint[] = [];
const NOTHING_REMOVED: ReadonlyMap<string, readonly string[]> = new Map();

/** Who may take a request now, and who was left out before the profile's filters. */
export type Eligible =
  | { readonly kind: 'some'; readonly pool: readonly LiveEndpoint[]; readonly removed: ReadonlyMap<string, readonly string[]> }
  | Extract<NextAttempt, { kind: 'none' }>;

/** Attempts over the live view of pods. */
export class LiveAttempts implements Attempts {
  /** Reused: a decision reads them and keeps nothing of them. */
  private readonly slots: number[] = [];
  private cachedBytes = new Float64Array(64);

  constructor(private readonly context: AttemptContext) {}

  next(request: SchedulingRequest, excluded: ReadonlySet<string>): NextAttempt {
    const { clock, random, registry, outputs, hasher } = this.context;
    const profile = profileFor(request, this.context);
    const nowMs = clock.monotonic();
    const pool = registry.pool(request.modelServer) ?? NOBODY;
    const eligible =
      request.only === undefined && request.sinceRelease === undefined && isWholly(pool, excluded, nowMs)
        ? { kind: 'some' as const, pool, removed: NOTHING_REMOVED }
        : narrow(request, pool, excluded, nowMs);
    if (eligible.kind === 'none') return eligible;
    const { upstreamModel, adapter } = request;
    const hashes = hasher.hash({ model: upstreamModel, adapter, salt: request.cacheSalt }, request.promptSpans);
    const candidates = this.candidates(eligible.pool, request, hashes, nowMs, random.next() < EXPLORATION_RATIO);
    const key = outputKey(request);
    const scheduled = scheduledRequest(request, outputs.expectedTokens(key, request.maxOutputTokens), random.next());
    const outcome = measuredSchedule(this.context, request, profile, scheduled, candidates);
    if (outcome.kind === 'filtered') {
      return { kind: 'none', reason: 'filtered', message: `pods have all been filtered out by "${outcome.filter}"` };
    }
    const { decision } = outcome;
    const attempt = new LiveAttempt({
      context: this.context,
      request,
      scheduled,
      hashes,
      live: eligible.pool[candidates.indexOf(decision.picked)]!,
      decision,
      removed: eligible.removed,
      outputKey: key,
    });
    return { kind: 'attempt', attempt };
  }

  private candidates(
    pool: readonly LiveEndpoint[],
    request: SchedulingRequest,
    hashes: BlockHashes,
    nowMs: number,
    usesSeeds: boolean,
  ): readonly Candidate[] {
    const { slots } = this;
    slots.length = 0;
    for (const { endpoint } of pool) slots.push(endpoint.slot);
    if (this.cachedBytes.length < pool.length) this.cachedBytes = new Float64Array(2 * pool.length);
    this.context.index.lookup(hashes, slots, this.cachedBytes);
    const tokensPerByte = hashes.totalBytes === 0 ? 0 : request.promptTokens / hashes.totalBytes;
    this.context.metrics?.matched(modelLabel(request), bestRatio(this.cachedBytes, pool.length, hashes.totalBytes));
    return pool.map((live, i) => candidateOf(live, { cachedTokens: this.cachedBytes[i]! * tokensPerByte, nowMs, usesSeeds }));
  }
}

/** The profile that decides on a request. */
export function profileFor(
  { route, adapter }: Pick<SchedulingRequest, 'route' | 'adapter'>,
  { profile, routeProfiles }: Pick<AttemptContext, 'profile' | 'routeProfiles'>,
): Profile {
  const chosen = routeProfiles?.get(route ?? '') ?? profile;
  return adapter === undefined ? chosen : (chosen.forAdapters ?? chosen);
}

/** Share of the prompt that the best of the first `count` has. */
function bestRatio(cachedBytes: Float64Array, count: number, totalBytes: number): number {
  let best = 0;
  for (let i = 0; i < count; i++) best = Math.max(best, cachedBytes[i]!);
  return totalBytes === 0 ? 0 : best / totalBytes;
}

/** Whether every pod of the pool may take the request, which is nearly always so. */
function isWholly(pool: readonly LiveEndpoint[], excluded: ReadonlySet<string>, nowMs: number): boolean {
  if (excluded.size > 0) return false;
  for (const live of pool) if (!live.isAvailable || live.outlier.leftOutSinceMs(nowMs) !== undefined) return false;
  return pool.length > 0;
}

/** Who of a pool may take a request: ready, not yet tried, and not ejected while others are left. */
export function narrow(
  request: Pick<SchedulingRequest, 'modelServer' | 'only' | 'sinceRelease'>,
  pool: readonly LiveEndpoint[],
  excluded: ReadonlySet<string>,
  nowMs: number,
): Eligible {
  const { only, sinceRelease } = request;
  const ready = pool.filter((each) => each.isAvailable && (only === undefined || each.endpoint.id === only));
  if (ready.length === 0) {
    return { kind: 'none', reason: 'no-endpoints', message: `no ready pods for model server: ${request.modelServer}` };
  }
  const available = sinceRelease === undefined ? ready : ready.filter(({ capacity }) => isSince(capacity.release, sinceRelease));
  if (available.length === 0) {
    const message = `no pod of ${request.modelServer} has an engine of release ${sinceRelease} or later, which this request needs`;
    return { kind: 'none', reason: 'filtered', message };
  }
  const untried = available.filter(({ endpoint }) => !excluded.has(endpoint.id));
  if (untried.length === 0) {
    return {
      kind: 'none',
      reason: 'excluded',
      message: `all ${available.length} ready pods of ${request.modelServer} were tried`,
    };
  }
  const ejected = ejectedMembers(available, nowMs);
  // Where only ejected ones are untried, one of them is a better answer than none.
  const healthy = untried.filter((live) => !ejected.has(live));
  const eligible = healthy.length > 0 ? healthy : untried;
  const removed = new Map<string, readonly string[]>();
  if (untried.length < available.length) removed.set('excluded', available.filter((each) => !untried.includes(each)).map(idOf));
  if (eligible.length < untried.length) removed.set('outlier', untried.filter((each) => !eligible.includes(each)).map(idOf));
  return { kind: 'some', pool: eligible, removed };
}

/** An engine whose release nobody knows is taken to be a new one, as everywhere. */
function isSince(release: string | undefined, first: string): boolean {
  return release === undefined || compareVersions(release, first) >= 0;
}

/** What scorers see of a request. @param draw a random number that is the same for all of them. */
export function scheduledRequest(request: SchedulingRequest, expectedOutputTokens: number, draw: number): ScheduledRequest {
  const { promptTokens, upstreamModel, adapter, preferred, ownedBlocks } = request;
  return { promptTokens, expectedOutputTokens, upstreamModel, adapter, draw, preferred, ownedBlocks };
}

/** Requests whose answers are about as long. */
export function outputKey({ modelServer, upstreamModel, adapter }: SchedulingRequest): string {
  return `${modelServer} ${adapter ?? upstreamModel}`;
}

function idOf({ endpoint }: LiveEndpoint): string {
  return endpoint.id;
}
