import type { RouterConfig } from '../../../src/config/router-config';
import type { Metrics } from '../../lib/metrics';
import type { RouterMetrics } from '../observability/router-metrics';
import type { HandOff } from '../relay/hand-off';
import type { MatchedServer, ReadRequest } from '../request';
import { RequestIds } from '../request/request-ids';
import { upstreamBody } from '../request/upstream-body';
import type { Attempt, Attempts, NextAttempt, SchedulingRequest } from '../scheduling/attempts';
import type { LivePairs, TriedPods } from '../scheduling/live-pairs';
import type { HandOffConnector } from './connector';
import { Connectors } from './connectors';
import { HandOffMetrics, type WholeReason } from './hand-off-metrics';
import { type HandOffDependencies, HandOffRun } from './hand-off-run';
import { KeptKv } from './kept-kv';
import { LegBodies } from './leg-bodies';

/** APIs whose requests were seen to be handed over; the others' answers carry nothing for decode. */
const PATHS: ReadonlySet<string> = new Set(['/v1/chat/completions', '/v1/completions']);

export interface HandOffsOptions extends Omit<HandOffDependencies, 'ids' | 'metrics' | 'kept' | 'config'> {
  readonly config: Pick<RouterConfig, 'deadlines' | 'disaggregation'>;
  readonly pairs: LivePairs;
  /** Attempts at decode pods alone. */
  readonly attempts: Attempts;
  readonly metrics: RouterMetrics;
  readonly registry: Metrics;
}

/** A request to pods that split prefill and decode: what is the same for each of its attempts. */
export interface DisaggregatedRequest {
  next(tried: TriedPods): NextHandOff;
}

export type NextHandOff =
  /** `handOff` is absent where decode does all of it. */
  { readonly kind: 'attempt'; readonly attempt: Attempt; readonly handOff?: HandOff } | Extract<NextAttempt, { kind: 'none' }>;

/** Makes the attempts at ModelServers whose pods split prefill and decode. */
export class HandOffs {
  private readonly connectors: Connectors;
  private readonly shared: HandOffDependencies;

  constructor(private readonly options: HandOffsOptions) {
    const { clients, wheel, clock, config, registry } = options;
    this.connectors = new Connectors(Math.max(config.deadlines.connectMs, 1_000));
    const metrics = new HandOffMetrics(registry);
    this.shared = { clients, wheel, clock, config, metrics, ids: new RequestIds(), kept: new KeptKv(clock, metrics) };
  }

  request(request: ReadRequest, matched: MatchedServer, scheduling: SchedulingRequest): DisaggregatedRequest {
    const connector = this.connectors.of(matched.modelServer);
    const bodies = PATHS.has(request.head.api.path)
      ? new LegBodies(upstreamBody(request, matched.upstreamModel, matched.cacheSalt))
      : undefined;
    const reason = bodies === undefined ? 'path' : wholeReason(bodies, connector);
    return {
      next: (tried) =>
        bodies === undefined || reason !== undefined
          ? this.whole(matched, scheduling, tried, reason ?? 'path')
          : this.pair(request, matched, scheduling, tried, connector, bodies),
    };
  }

  /** The endpoint's pod is gone. */
  forget(endpointId: string): void {
    this.connectors.forget(endpointId);
    this.shared.kept.forget(endpointId);
  }

  close(): void {
    this.shared.kept.close();
  }

  private whole(matched: MatchedServer, scheduling: SchedulingRequest, tried: TriedPods, reason: WholeReason): NextAttempt {
    const next = this.options.attempts.next(scheduling, tried.excluded);
    if (next.kind === 'attempt') this.shared.metrics.whole(matched.modelServerKey, reason);
    return next;
  }

  private pair(
    { head, parsed }: ReadRequest,
    matched: MatchedServer,
    scheduling: SchedulingRequest,
    tried: TriedPods,
    connector: HandOffConnector,
    bodies: LegBodies,
  ): NextHandOff {
    const { pairs, config, metrics } = this.options;
    const next = pairs.next(scheduling, tried, {
      isPossible: connector.canSkipPrefill,
      wholeBelowTokens: config.disaggregation.wholeBelowTokens,
    });
    if (next.kind === 'none') return next;
    const { attempt } = next;
    if (next.kind === 'whole') {
      this.shared.metrics.whole(matched.modelServerKey, next.isForced ? 'no-pair' : 'short');
      return { kind: 'attempt', attempt };
    }
    const handOff = new HandOffRun(this.shared, {
      head,
      matched,
      model: parsed.model,
      pair: next.attempt,
      connector,
      bodies,
      upstream: metrics.upstreamOf(matched.destination),
    });
    return { kind: 'attempt', attempt, handOff };
  }
}

/** Why a request is not handed over though its path has hand-offs. */
function wholeReason(bodies: LegBodies, { several, canSkipPrefill }: HandOffConnector): WholeReason | undefined {
  if (several === 'whole' && bodies.generations > 1) return 'several';
  if (canSkipPrefill && bodies.wantsPromptTokens) return 'prompt-tokens';
  return undefined;
}
