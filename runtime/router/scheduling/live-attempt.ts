import type { BlockHashes } from '../cache/block-hashes';
import type { PrefixReservation } from '../cache/prefix-index';
import type { Endpoint } from '../endpoints/endpoint';
import type { LedgerEntry } from '../endpoints/in-flight-ledger';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import type { AttemptContext } from './attempt-context';
import type { Attempt, AttemptExplanation, AttemptOutcome, SchedulingRequest, TokenUsage } from './attempts';
import type { Candidate, ScheduledRequest } from './candidate';
import { slotWaitSeconds } from './plugins/slot-wait';
import type { Decision } from './scheduler';

/** Below this many uncached tokens the time to the first token is mostly fixed cost and says little about the prefill rate. */
const LEAST_PREFILL_SAMPLE_TOKENS = 64;

export interface AttemptInput {
  readonly context: AttemptContext;
  readonly request: SchedulingRequest;
  readonly scheduled: ScheduledRequest;
  readonly hashes: BlockHashes;
  readonly live: LiveEndpoint;
  readonly decision: Decision;
  /** Ids left out before the profile's filters, by reason. */
  readonly removed: ReadonlyMap<string, readonly string[]>;
  readonly outputKey: string;
}

/** One dispatch: takes its ledger entry and index entries when made, gives them back when settled, and learns from how it went. */
export class LiveAttempt implements Attempt {
  readonly endpoint: Endpoint;
  readonly predictedCachedTokens: number;
  readonly expectedTtftMs: number;
  private readonly entry: LedgerEntry;
  private readonly reservation: PrefixReservation;
  private readonly dispatchedMs: number;
  private readonly scrapeAgeMs: number | undefined;
  private firstTokenMs: number | undefined;
  private isSettled = false;

  constructor(private readonly input: AttemptInput) {
    const { context, request, scheduled, hashes, live, decision } = input;
    const { picked } = decision;
    const uncachedTokens = Math.max(0, request.promptTokens - picked.cachedTokens);
    this.endpoint = live.endpoint;
    this.predictedCachedTokens = Math.round(picked.cachedTokens);
    this.expectedTtftMs = 1000 * expectedTtftSeconds(scheduled, picked, uncachedTokens);
    this.dispatchedMs = context.clock.monotonic();
    this.scrapeAgeMs = live.scraped.ageMs(this.dispatchedMs);
    this.entry = live.ledger.dispatch(
      { uncachedTokens, kvTokens: uncachedTokens + scheduled.expectedOutputTokens },
      this.dispatchedMs,
    );
    this.reservation = context.index.reserve(hashes, live.endpoint.slot);
    live.outlier.dispatched(this.dispatchedMs);
  }

  explain(): AttemptExplanation {
    const { context, decision, removed } = this.input;
    const { candidates, terms, costs } = decision;
    const { name, scorers } = context.profile;
    return {
      profile: name,
      candidates: candidates.map((candidate, i) => ({
        endpoint: candidate.endpoint.id,
        terms: Object.fromEntries(scorers.map(({ scorer }, s) => [scorer.name, terms[s * candidates.length + i]!])),
        cost: costs[i]!,
        cachedTokens: Math.round(candidate.cachedTokens),
      })),
      removed: Object.fromEntries([
        ...[...decision.removed].map(([filter, gone]) => [filter, gone.map(({ endpoint }) => endpoint.id)] as const),
        ...removed,
      ]),
      ...(this.scrapeAgeMs === undefined ? {} : { scrapeAgeMs: this.scrapeAgeMs }),
    };
  }

  firstToken(): void {
    if (this.firstTokenMs !== undefined || this.isSettled) return;
    this.firstTokenMs = this.input.context.clock.monotonic();
    this.entry.prefilled(this.firstTokenMs);
    this.reservation.confirm();
  }

  settle(outcome: AttemptOutcome): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { context, live } = this.input;
    const nowMs = context.clock.monotonic();
    const runningAtEnd = live.ledger.running;
    this.entry.close(nowMs);
    switch (outcome.kind) {
      case 'completed':
        this.reservation.confirm();
        live.outlier.succeeded();
        if (outcome.usage !== undefined) this.learn(outcome.usage, nowMs, runningAtEnd);
        return;
      case 'refused':
        this.reservation.withdraw();
        // A 4xx is the request's fault, and 429 and 503 say "busy", not "broken".
        if (outcome.status >= 500 && outcome.status !== 503) live.outlier.failed(nowMs);
        else live.outlier.inconclusive(nowMs);
        return;
      case 'failed':
        this.reservation.withdraw();
        live.outlier.failed(nowMs);
        return;
      case 'aborted':
        this.reservation.withdraw();
        live.outlier.inconclusive(nowMs);
    }
  }

  private learn({ promptTokens, completionTokens, cachedTokens }: TokenUsage, nowMs: number, runningAtEnd: number): void {
    const { context, request, hashes, live, decision } = this.input;
    context.outputs.observe(this.input.outputKey, completionTokens);
    context.density.observe(request.upstreamModel, hashes.totalBytes, promptTokens);
    context.densityChanged(live, request.upstreamModel);
    if (this.firstTokenMs === undefined || !request.streams) return;
    const { picked } = decision;
    const sequences = Math.max(1, (picked.running + 1 + runningAtEnd) / 2);
    if (completionTokens > 1) {
      live.rates.observeDecode(sequences, (nowMs - this.firstTokenMs) / 1000 / (completionTokens - 1), nowMs);
    }
    if (picked.queuedTokens > 0) return;
    const uncached = cachedTokens === undefined ? request.promptTokens - picked.cachedTokens : promptTokens - cachedTokens;
    if (uncached < LEAST_PREFILL_SAMPLE_TOKENS) return;
    const { baseSeconds, perSequenceSeconds } = picked.decode;
    const ttftSeconds = (this.firstTokenMs - this.dispatchedMs) / 1000;
    // The step that prefills also carries a decode step's cost; at least a tenth of the time is prefill in any case.
    live.rates.observePrefill(
      uncached,
      Math.max(ttftSeconds - baseSeconds - perSequenceSeconds * sequences, ttftSeconds / 10),
      nowMs,
    );
  }
}

function expectedTtftSeconds(request: ScheduledRequest, picked: Candidate, uncachedTokens: number): number {
  const { queuedTokens, prefillTokensPerSecond, decode, running } = picked;
  const step = decode.baseSeconds + decode.perSequenceSeconds * (running + 1);
  return (queuedTokens + uncachedTokens) / prefillTokensPerSecond + step + slotWaitSeconds(request, picked);
}
