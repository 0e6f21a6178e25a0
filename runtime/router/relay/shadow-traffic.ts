import type { Random } from '../../lib/random';
import { RouterError } from '../errors';
import type { ShadowMetrics, ShadowOutcome } from '../observability/shadow-metrics';
import type { MatchedRequest, MatchedServer, ReadRequest } from '../request';
import type { BodyBudget } from '../request/body-budget';
import { RequestIds } from '../request/request-ids';
import { Reservations } from '../reservations';
import { AttemptSource, type AttemptSourceDependencies } from './attempt-source';
import type { RelayDependencies } from './relay';
import { settlement } from './settlement';
import { ShadowCopy } from './shadow-copy';

export interface ShadowTrafficOptions extends Pick<RelayDependencies, 'clients' | 'wheel'> {
  readonly config: Pick<RelayDependencies['config'], 'deadlines'> & {
    readonly limits: { readonly shadowRequestsInFlight: number };
  };
  readonly random: Random;
  readonly budget: BodyBudget;
  readonly metrics: ShadowMetrics;
  readonly sources: AttemptSourceDependencies;
  /** The rule's shadow as a place to go; undefined when it does not exist, or may not get the request. */
  readonly shadowOf: (matched: MatchedRequest, request: ReadRequest) => MatchedServer | undefined;
  /** An error that nobody foresaw; the client hears nothing of it. */
  readonly onUnforeseen: (error: unknown) => void;
}

/**
 * Copies of requests for the shadows of their rules. A copy has attempts of its own at the shadow's pods, touches no limit and nothing of
 * the request it is of, and goes on when that is answered, but not when its client leaves.
 */
export class ShadowTraffic {
  private readonly running = new Set<ShadowCopy>();
  private readonly ids = new RequestIds();
  private readonly sources: AttemptSourceDependencies;

  constructor(private readonly options: ShadowTrafficOptions) {
    this.sources = { ...options.sources, fallback: () => undefined };
  }

  /** Copies under way. */
  get exchanges(): number {
    return this.running.size;
  }

  /** Follows a request that is under way already, so that its copy never comes first. Settles as the request does. */
  async beside(primary: Promise<void>, request: ReadRequest, matched: MatchedRequest): Promise<void> {
    const copy = this.copy(request, matched);
    if (copy === undefined) return primary;
    try {
      await primary;
    } catch (error) {
      if (error instanceof RouterError && error.code === 'client_closed') copy.abort();
      throw error;
    }
  }

  cutAll(): void {
    for (const copy of [...this.running]) copy.abort();
  }

  private copy(request: ReadRequest, matched: MatchedRequest): ShadowCopy | undefined {
    try {
      return this.start(request, matched);
    } catch (error) {
      this.options.onUnforeseen(error);
      return undefined;
    }
  }

  private start(request: ReadRequest, matched: MatchedRequest): ShadowCopy | undefined {
    const { random, shadowOf, config, budget, metrics } = this.options;
    const percent = matched.rule.shadow?.percent ?? 0;
    // What an endpoint keeps is only there, and a provider's requests are not ours to repeat.
    const isItsOwn =
      matched.kind === 'provider' || request.head.api.use === 'response' || matched.stateful?.endpointId !== undefined;
    if (isItsOwn || random.next() * 100 >= percent) return undefined;
    const target = shadowOf(matched, request);
    if (target === undefined) return undefined;
    const reservations = new Reservations();
    const end = (outcome: ShadowOutcome): undefined => {
      metrics.ended(target.destination, outcome);
      reservations.settle();
    };
    const hasRoom = this.running.size < config.limits.shadowRequestsInFlight && budget.take(request.body.length, reservations);
    if (!hasRoom) return end('skipped');
    const held = new AttemptSource(this.sources, request, target, reservations).next();
    if (held.kind === 'none') return end('unserved');
    const { clients, wheel } = this.options;
    const requestId = this.ids.make();
    const copy = new ShadowCopy({ clients, wheel, deadlines: config.deadlines, request, target, held, requestId });
    this.running.add(copy);
    void copy.run().then((outcome) => {
      this.running.delete(copy);
      const settled = settlement(outcome);
      held.held.release(settled);
      end(settled.kind);
    });
    return copy;
  }
}
