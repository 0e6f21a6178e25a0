import type { BlockHashes } from '../cache/block-hashes';
import type { PrefixReservation } from '../cache/prefix-index';
import type { SharedDispatch } from '../cache/replication/dispatch-sharing';
import type { Endpoint } from '../endpoints/endpoint';
import type { LedgerEntry } from '../endpoints/in-flight-ledger';
import { type DecodeLoad, decodeStepSeconds } from '../endpoints/learned-rates';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import type { AttemptContext } from './attempt-context';
import type {
  Attempt,
  AttemptExplanation,
  AttemptOutcome,
  ChosenBy,
  PairExplanation,
  SchedulingRequest,
  TokenUsage,
} from './attempts';
import { type Candidate, contextTokensOf, type ScheduledRequest } from './candidate';
import { slotWaitSeconds } from './plugins/slot-wait';
import type { Decision } from './scheduler';

/** Below this many uncached tokens the time to the first token is mostly fixed cost and says little about the prefill rate. */
const LEAST_PREFILL_SAMPLE_TOKENS = 64;
/** Of a measured time at least this share is what was to be measured, whatever is believed to have come on top. */
const LEAST_OWN_RATIO = 0.1;

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
  /** Which part of a request it carries. @default the whole */
  readonly leg?: 'prefill' | 'decode';
  /** What was weighed where prefill and decode are apart. */
  readonly pairs?: readonly PairExplanation[];
}

/** One dispatch: takes its ledger entry and index entries when made, gives them back when settled, and learns from how it went. */
export class LiveAttempt implements Attempt {
  readonly endpoint: Endpoint;
  readonly predictedCachedTokens: number;
  readonly expectedTtftMs: number;
  private readonly entry: LedgerEntry;
  private readonly reservation: PrefixReservation;
  private readonly shared: SharedDispatch | undefined;
  private readonly dispatchedMs: number;
  private readonly scrapeAgeMs: number | undefined;
  private firstTokenMs: number | undefined;
  /** What the endpoint had prefilled when the first token arrived. */
  private prefilledBefore = 0;
  private isSettled = false;

  constructor(private readonly input: AttemptInput) {
    const { context, request, scheduled, hashes, live, decision } = input;
    const { picked } = decision;
    const uncachedTokens = Math.max(0, request.promptTokens - picked.cachedTokens);
    this.endpoint = live.endpoint;
    this.predictedCachedTokens = Math.round(ownCachedTokens(picked));
    this.expectedTtftMs = 1000 * expectedTtftSeconds(scheduled, picked, uncachedTokens);
    this.dispatchedMs = context.clock.monotonic();
    this.scrapeAgeMs = live.scraped.ageMs(this.dispatchedMs);
    const kvTokens = uncachedTokens + (picked.remoteTokens ?? 0) + scheduled.expectedOutputTokens;
    const contextTokens = contextTokensOf(scheduled);
    this.entry = live.ledger.dispatch({ uncachedTokens, kvTokens, contextTokens }, this.dispatchedMs);
    this.reservation = context.index.reserve(hashes, live.endpoint.slot);
    const { adapter } = scheduled;
    this.shared = context.sharing?.dispatched({
      endpoint: live.endpoint,
      uncachedTokens,
      kvTokens,
      contextTokens,
      adapter,
      hashes,
    });
    live.outlier.dispatched(this.dispatchedMs);
    if (scheduled.adapter !== undefined) live.adapterUsed(scheduled.adapter);
  }

  get chosenBy(): ChosenBy {
    return this.input.decision.by;
  }

  explain(): AttemptExplanation {
    const {
      decision,
      removed,
      request: { preferred },
    } = this.input;
    const { candidates, terms, costs } = decision;
    const { name, scorers } = decision.profile;
    return {
      profile: name,
      candidates: candidates.map((candidate, i) => ({
        endpoint: candidate.endpoint.id,
        terms: Object.fromEntries(scorers.map(({ scorer }, s) => [scorer.name, terms[s * candidates.length + i]!])),
        cost: costs[i]!,
        cachedTokens: Math.round(ownCachedTokens(candidate)),
      })),
      removed: Object.fromEntries([
        ...[...decision.removed].map(([filter, gone]) => [filter, gone.map(({ endpoint }) => endpoint.id)] as const),
        ...removed,
      ]),
      ...(this.scrapeAgeMs === undefined ? {} : { scrapeAgeMs: this.scrapeAgeMs }),
      ...(preferred === undefined ? {} : { session: { endpoint: preferred, outcome: this.outcomeFor(preferred) } }),
      ...(this.input.pairs === undefined ? {} : { pairs: this.input.pairs }),
    };
  }

  private outcomeFor(preferred: string): 'kept' | 'moved' {
    return this.endpoint.id === preferred ? 'kept' : 'moved';
  }

  firstToken(): void {
    if (this.firstTokenMs !== undefined || this.isSettled) return;
    this.firstTokenMs = this.input.context.clock.monotonic();
    this.entry.prefilled(this.firstTokenMs);
    this.prefilledBefore = this.input.live.ledger.prefilledTokens;
    this.reservation.confirm();
    this.shared?.prefilled();
  }

  /** The engine keeps the prompt's KV though nobody will ask for it. @returns says that it no longer does; to be called once. */
  keepKv(): () => void {
    return this.input.live.ledger.keep(this.input.request.promptTokens);
  }

  settle(outcome: AttemptOutcome): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { context, live } = this.input;
    const nowMs = context.clock.monotonic();
    const { running: runningAtEnd, contextTokens: contextAtEnd } = live.ledger;
    this.entry.close(nowMs);
    this.shared?.ended(outcome.kind === 'completed' || this.firstTokenMs !== undefined);
    switch (outcome.kind) {
      case 'completed':
        this.reservation.confirm();
        live.outlier.succeeded();
        if (outcome.usage !== undefined)
          this.learn(outcome.usage, nowMs, { sequences: runningAtEnd, contextTokens: contextAtEnd });
        return;
      case 'refused':
        this.reservation.withdraw();
        // A 4xx is the request's fault, and 429 and 503 say "busy", not "broken".
        if (outcome.status === 429 || outcome.status === 503) live.outlier.busy(nowMs, outcome.retryAfterMs);
        else if (outcome.status >= 500) live.outlier.failed(nowMs);
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

  private learn({ promptTokens, completionTokens, cachedTokens }: TokenUsage, nowMs: number, atEnd: DecodeLoad): void {
    const { context, request, hashes, live, decision, leg } = this.input;
    // The one token of a prefill leg says nothing of how long answers are.
    if (leg !== 'prefill') context.outputs.observe(this.input.outputKey, completionTokens);
    context.density.observe(request.upstreamModel, hashes.totalBytes, promptTokens);
    context.densityChanged(live, request.upstreamModel);
    if (this.firstTokenMs === undefined || !request.streams) return;
    const { picked } = decision;
    const mean = {
      sequences: Math.max(1, (picked.running + 1 + atEnd.sequences) / 2),
      contextTokens: (picked.contextTokens + contextTokensOf(this.input.scheduled) + atEnd.contextTokens) / 2,
    };
    if (completionTokens > 1) {
      const decodeSeconds = (nowMs - this.firstTokenMs) / 1000;
      // Prefills of others that held its steps up say nothing of how fast the endpoint decodes, and are charged to those others.
      const prefillSeconds = (live.ledger.prefilledTokens - this.prefilledBefore) / live.rates.prefillTokensPerSecond(nowMs);
      const ownSeconds = Math.max(decodeSeconds - prefillSeconds, LEAST_OWN_RATIO * decodeSeconds);
      live.rates.observeDecode(mean, ownSeconds / (completionTokens - 1), nowMs);
    }
    if (picked.queuedTokens > 0 || leg === 'decode') return;
    const uncached = cachedTokens === undefined ? request.promptTokens - picked.cachedTokens : promptTokens - cachedTokens;
    if (uncached < LEAST_PREFILL_SAMPLE_TOKENS) return;
    const ttftSeconds = (this.firstTokenMs - this.dispatchedMs) / 1000;
    // The step that prefills also carries a decode step's cost.
    live.rates.observePrefill(
      uncached,
      Math.max(ttftSeconds - decodeStepSeconds(picked.decode, mean), LEAST_OWN_RATIO * ttftSeconds),
      nowMs,
    );
  }
}

function expectedTtftSeconds(request: ScheduledRequest, picked: Candidate, uncachedTokens: number): number {
  const { queuedTokens, prefillTokensPerSecond, decode, running, contextTokens } = picked;
  const step = decodeStepSeconds(decode, { sequences: running + 1, contextTokens: contextTokens + contextTokensOf(request) });
  const link = picked.linkSeconds ?? 0;
  return (queuedTokens + uncachedTokens) / prefillTokensPerSecond + link + step + slotWaitSeconds(request, picked);
}

/** Without what another engine hands over. */
function ownCachedTokens({ cachedTokens, remoteTokens = 0 }: Candidate): number {
  return cachedTokens - remoteTokens;
}
