import type { OwnedBlocks } from '../cache/owned-blocks';
import type { DisaggregatedRequest, HandOffs, NextHandOff } from '../disaggregation/hand-offs';
import type { RouterError } from '../errors';
import type { RouterMetrics } from '../observability/router-metrics';
import type { NextProviderAttempt, ProviderAttempts } from '../providers/provider-attempts';
import type { MatchedRequest, MatchedServer, ReadRequest, StatefulUse } from '../request';
import type { ApiPath } from '../request/api-paths';
import type { Held, Reservations } from '../reservations';
import type { StatefulResponses } from '../responses/stateful-responses';
import type { Sessions } from '../routing/sessions';
import type { Attempt, AttemptEndpoint, AttemptOutcome, Attempts, NextAttempt, SchedulingRequest } from '../scheduling/attempts';
import type { HandOff } from './hand-off';
import type { UpstreamCall } from './upstream-call';

/** An attempt, and the one way to end it. */
export interface HeldAttempt {
  readonly kind: 'attempt';
  readonly attempt: Attempt<AttemptEndpoint>;
  readonly held: Held<AttemptOutcome>;
  /** The target whose attempt this is: the matched one, or another of its rule. */
  readonly matched: MatchedRequest;
  /** How it goes to a provider. */
  readonly call?: UpstreamCall | undefined;
  /** How it goes to two pods. */
  readonly handOff?: HandOff | undefined;
}

export type NoAttempt = Extract<NextAttempt, { kind: 'none' }> & {
  /** What the client is told, where the reason does not say it. */
  readonly error?: RouterError;
};

export interface AttemptSourceDependencies {
  readonly attempts: Attempts;
  readonly handOffs: Pick<HandOffs, 'request'>;
  readonly providers: Pick<ProviderAttempts, 'next' | 'isEjected'>;
  readonly metrics: RouterMetrics;
  /** Where else a request may go whose target has nobody. */
  readonly fallback: (matched: MatchedRequest, request: ReadRequest) => MatchedRequest | undefined;
  readonly sessions: Pick<Sessions, 'bind'>;
  /** What a store of KV blocks says of a prompt. @default nobody is asked */
  readonly ownedBlocks?: ((request: ReadRequest) => OwnedBlocks | undefined) | undefined;
  readonly responses: Pick<StatefulResponses, 'call'>;
}

const UNSETTLED: AttemptOutcome = { kind: 'failed', reason: 'unsettled' };

/** Draws the endpoints of one request, one attempt at a time, from the live view; when a target has nobody left, those of another. */
export class AttemptSource {
  private readonly excluded = new Set<string>();
  /** Pods that took part in a failed hand-off and may be the cause. */
  private doubted: ReadonlySet<string> | undefined;
  private disaggregated: DisaggregatedRequest | undefined;
  private scheduling: SchedulingRequest | undefined;
  private triedProvider: string | undefined;
  private readonly stateful: StatefulUse | undefined;
  private drawn: HeldAttempt | NoAttempt | undefined;
  /** How attempts end that nobody ends. */
  private otherwise: AttemptOutcome = UNSETTLED;

  constructor(
    private readonly deps: AttemptSourceDependencies,
    private readonly request: ReadRequest,
    private matched: MatchedRequest,
    private readonly reservations: Reservations,
  ) {
    this.stateful = matched.stateful;
  }

  /** Draws the first attempt now, so that its room is taken; `next` then answers with it. */
  draw(): void {
    // Were it never sent, its endpoint did nothing wrong.
    this.otherwise = { kind: 'aborted' };
    this.drawn = this.next();
    this.otherwise = UNSETTLED;
  }

  next(): HeldAttempt | NoAttempt {
    const { drawn } = this;
    if (drawn !== undefined) {
      this.drawn = undefined;
      return drawn;
    }
    let refusal: NoAttempt | undefined;
    for (;;) {
      const { matched } = this;
      // A provider that failed or keeps failing is asked again only where there is nobody else.
      if (matched.kind === 'provider' && this.isDoubtful(matched.providerKey) && this.moveOn()) continue;
      const next: Next = matched.kind === 'provider' ? this.deps.providers.next(this.request, matched) : this.nextOf(matched);
      if (next.kind === 'attempt') {
        // Which of two pods a hand-off fails at is known when it is over.
        if (next.handOff === undefined) this.excluded.add(next.attempt.endpoint.id);
        return this.hold(next.attempt, matched, this.callOf(next, matched), next.handOff);
      }
      // The client hears why the drawn target had nobody, unless that one could never have served it.
      if (refusal === undefined || isClientsFault(refusal)) refusal = next;
      if (!this.moveOn()) return refusal;
    }
  }

  private callOf({ attempt, call }: NextCall, matched: MatchedRequest): UpstreamCall | undefined {
    if (this.stateful === undefined) return call;
    return this.deps.responses.call(this.request, matched, this.stateful, attempt.endpoint.id, call);
  }

  private nextOf(matched: MatchedServer): NextHandOff & { readonly call?: undefined } {
    this.scheduling ??= schedulingRequest(this.request, matched, this.deps.ownedBlocks?.(this.request));
    const isPinned = this.scheduling.only !== undefined;
    if (matched.modelServer.spec.workloadSelector.pdGroup === undefined || isPinned) {
      return this.deps.attempts.next(this.scheduling, this.excluded);
    }
    this.disaggregated ??= this.deps.handOffs.request(this.request, matched, this.scheduling);
    return this.disaggregated.next({ excluded: this.excluded, doubted: this.doubted ?? this.excluded });
  }

  private isDoubtful(providerKey: string): boolean {
    return this.triedProvider === providerKey || this.deps.providers.isEjected(providerKey);
  }

  /** @returns whether there is another target. */
  private moveOn(): boolean {
    if (this.stateful?.endpointId !== undefined) return false;
    const other = this.deps.fallback(this.matched, this.request);
    if (other === undefined) return false;
    this.matched = other;
    this.scheduling = undefined;
    this.disaggregated = undefined;
    return true;
  }

  private hold(
    attempt: Attempt<AttemptEndpoint>,
    matched: MatchedRequest,
    call: UpstreamCall | undefined,
    handOff: HandOff | undefined,
  ): HeldAttempt {
    const { metrics } = this.deps;
    if (matched.kind === 'provider') this.triedProvider = matched.providerKey;
    const { destination, session } = matched;
    if (session !== undefined) this.deps.sessions.bind(session, matched.target, attempt.endpoint.id);
    const gauge = metrics.upstreamOf(destination);
    gauge.add(1);
    const held = this.reservations.take<AttemptOutcome>((outcome) => {
      gauge.add(-1);
      metrics.attempt(destination, outcome.kind);
      attempt.settle(outcome);
      if (handOff !== undefined) this.remember(handOff);
    }, this.otherwise);
    return { kind: 'attempt', attempt, held, matched, call, handOff };
  }

  private remember({ failed, doubted }: HandOff): void {
    for (const id of failed) this.excluded.add(id);
    if (doubted.length > 0) this.doubted = new Set([...(this.doubted ?? []), ...doubted]);
  }
}

type Next = (NextProviderAttempt & { readonly handOff?: undefined }) | (NextHandOff & { readonly call?: undefined });

interface NextCall {
  readonly attempt: Attempt<AttemptEndpoint>;
  readonly call?: UpstreamCall | undefined;
}

function isClientsFault({ error }: NoAttempt): boolean {
  return error !== undefined && error.status < 500;
}

/** What scheduling needs to know of a request. */
function schedulingRequest(
  { head, parsed }: ReadRequest,
  matched: MatchedServer,
  ownedBlocks: OwnedBlocks | undefined,
): SchedulingRequest {
  return {
    modelServer: matched.modelServerKey,
    upstreamModel: matched.upstreamModel,
    model: parsed.model,
    adapter: matched.isAdapter ? parsed.model : undefined,
    promptSpans: parsed.promptSpans,
    promptTokens: parsed.promptTokens,
    maxOutputTokens: parsed.maxOutputTokens,
    streams: parsed.streams,
    only: matched.stateful?.endpointId,
    preferred: matched.session?.place?.endpointId,
    cacheSalt: matched.cacheSalt,
    sinceRelease: matched.cacheSalt === undefined ? undefined : saltedSince(head.api, matched),
    route: matched.destination.modelRoute,
    ownedBlocks,
  };
}

/** The first release of the target's engine that keeps tenants apart on a path; undefined where all do. */
function saltedSince({ cacheSalt }: ApiPath, { modelServer }: MatchedServer): string | undefined {
  return cacheSalt === 'needless' ? undefined : cacheSalt[modelServer.spec.inferenceEngine];
}
