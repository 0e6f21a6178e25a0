import type { BlockHashes } from '../cache/block-hashes';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import { ejectedMembers } from '../endpoints/outlier-ejection';
import type { AttemptContext } from './attempt-context';
import type { Attempts, NextAttempt, SchedulingRequest } from './attempts';
import type { Candidate, ScheduledRequest } from './candidate';
import { candidateOf } from './candidate-view';
import { LiveAttempt } from './live-attempt';
import { schedule } from './scheduler';

/** Share of decisions made with seed rates: what learned rates say of a slow endpoint stays open to correction. */
const EXPLORATION_RATIO = 0.01;

/** Attempts over the live view of pods. */
export class LiveAttempts implements Attempts {
  /** A request's hashes are the same for each of its attempts. */
  private readonly hashes = new WeakMap<SchedulingRequest, BlockHashes>();

  constructor(private readonly context: AttemptContext) {}

  next(request: SchedulingRequest, excluded: ReadonlySet<string>): NextAttempt {
    const { clock, random, registry, profile, outputs } = this.context;
    const nowMs = clock.monotonic();
    const pool = registry.pool(request.modelServer) ?? [];
    const available = pool.filter(({ isAvailable }) => isAvailable);
    if (available.length === 0) {
      return { kind: 'none', reason: 'no-endpoints', message: `no ready pods for model server: ${request.modelServer}` };
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
    const hashes = this.hashesOf(request);
    const candidates = this.candidates(eligible, request, hashes, nowMs, random.next() < EXPLORATION_RATIO);
    const scheduled: ScheduledRequest = {
      promptTokens: request.promptTokens,
      expectedOutputTokens: outputs.expectedTokens(outputKey(request), request.maxOutputTokens),
      upstreamModel: request.upstreamModel,
      ...(request.adapter === undefined ? {} : { adapter: request.adapter }),
      draw: random.next(),
    };
    const outcome = schedule(profile, scheduled, candidates, random);
    if (outcome.kind === 'filtered') {
      return { kind: 'none', reason: 'filtered', message: `pods have all been filtered out by "${outcome.filter}"` };
    }
    const { decision } = outcome;
    const live = eligible[candidates.indexOf(decision.picked)]!;
    const removed = new Map([...decision.removed].map(([name, gone]) => [name, gone.map(({ endpoint }) => endpoint.id)]));
    if (untried.length < available.length) removed.set('excluded', available.filter((each) => !untried.includes(each)).map(idOf));
    if (eligible.length < untried.length) removed.set('outlier', untried.filter((each) => !eligible.includes(each)).map(idOf));
    const attempt = new LiveAttempt({
      context: this.context,
      request,
      scheduled,
      hashes,
      live,
      decision,
      removed,
      outputKey: outputKey(request),
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
    const cachedBytes = new Float64Array(pool.length);
    const slots = pool.map(({ endpoint }) => endpoint.slot);
    this.context.index.lookup(hashes, slots, cachedBytes);
    const tokensPerByte = hashes.totalBytes === 0 ? 0 : request.promptTokens / hashes.totalBytes;
    return pool.map((live, i) => candidateOf(live, { cachedTokens: cachedBytes[i]! * tokensPerByte, nowMs, usesSeeds }));
  }

  private hashesOf(request: SchedulingRequest): BlockHashes {
    let hashes = this.hashes.get(request);
    if (hashes === undefined) {
      const { upstreamModel: model, adapter, promptSpans } = request;
      hashes = this.context.hasher.hash(adapter === undefined ? { model } : { model, adapter }, promptSpans);
      this.hashes.set(request, hashes);
    }
    return hashes;
  }
}

function outputKey({ modelServer, upstreamModel, adapter }: SchedulingRequest): string {
  return `${modelServer} ${adapter ?? upstreamModel}`;
}

function idOf({ endpoint }: LiveEndpoint): string {
  return endpoint.id;
}
