import type { QueueConfig } from '../../../../src/config/queue-config';
import type { Clock } from '../../../lib/clock';
import type { QueueMetrics } from '../../observability/queue-metrics';
import { usedTokens } from '../../observability/used-tokens';
import type { IncomingRequest, RequestHead } from '../../request';
import type { Reservations } from '../../reservations';
import type { Identity } from '../identity';
import type { QueueLane } from './queue-lane';
import type { QueuePolicies } from './queue-policies';
import { RecentSessions } from './recent-sessions';
import { UsageAccounts } from './usage-accounts';

/** Whose turn a request takes. */
export interface Turn {
  /** Empty where users are not told apart, and for requests without one. */
  readonly user: string;
  readonly account: string;
  readonly session: string | undefined;
  /** When its session last had an answer, as it was when the request came. */
  readonly boostedAtMs: number | undefined;
}

export interface TurnsOptions {
  readonly config: Pick<QueueConfig, 'fairness' | 'sessionBoost'>;
  readonly policies: QueuePolicies;
  readonly clock: Clock;
  readonly metrics: QueueMetrics;
  /** Called when one more request of a model may go. */
  readonly onReleased: () => void;
}

/**
 * What turns taken so far say of who is next: what users used, which sessions had answers, how many requests each model has at endpoints.
 * A prompt is charged by its estimate when its request goes, so that a user's many requests at once count, and put right by what the engine
 * counted when it is over.
 */
export class Turns {
  /** Whether turns are counted at all. */
  readonly counts: boolean;
  private readonly accounts: UsageAccounts | undefined;
  private readonly sessions: RecentSessions | undefined;
  private readonly underWay = new Map<string, number>();
  private out = 0;

  constructor(private readonly options: TurnsOptions) {
    const { fairness, sessionBoost } = options.config;
    this.accounts = fairness.enabled ? new UsageAccounts(fairness.windowMs) : undefined;
    this.sessions = sessionBoost.enabled ? new RecentSessions(sessionBoost) : undefined;
    this.counts = fairness.enabled || sessionBoost.enabled || options.policies.boundConcurrency;
  }

  /** Turns that are taken and not over. */
  get taken(): number {
    return this.out;
  }

  of(identity: Identity, head: Pick<RequestHead, 'headers'>, { pools }: QueueLane): Turn {
    const session = this.sessions?.keyOf(identity, head);
    const isTold = this.accounts !== undefined && identity.user !== undefined;
    const user = isTold ? `${identity.tenant ?? ''}\n${identity.user}` : '';
    return {
      user,
      account: `${pools}\n${user}`,
      session,
      boostedAtMs: session === undefined ? undefined : this.sessions?.answeredAtMs(session),
    };
  }

  /** What the user of an account used lately, weighted. */
  usage(account: string): number {
    return this.accounts?.usage(account, this.options.clock.monotonic()) ?? 0;
  }

  /** Whether one more request of a model may be at endpoints. */
  isOpen(model: string): boolean {
    const { maxConcurrent } = this.options.policies.of(model);
    return maxConcurrent === 0 || (this.underWay.get(model) ?? 0) < maxConcurrent;
  }

  /** A request goes on. */
  take({ account, session }: Turn, { trace }: Pick<IncomingRequest, 'trace'>, model: string, reservations: Reservations): void {
    if (!this.counts) return;
    const { clock } = this.options;
    const charged = this.accounts === undefined ? 0 : this.costOf(trace.inputTokens, 0);
    const chargedAtMs = clock.monotonic();
    this.accounts?.add(account, charged, chargedAtMs);
    this.change(model, 1);
    reservations.take<void>(() => {
      this.change(model, -1);
      const nowMs = clock.monotonic();
      const used = usedTokens(trace);
      if (this.accounts !== undefined) {
        const cost = used === undefined ? 0 : this.costOf(used.input, used.output);
        this.accounts.add(account, -charged, chargedAtMs);
        this.accounts.add(account, cost, nowMs);
      }
      const isAnswered = trace.status < 400 && trace.errorType === undefined;
      if (session !== undefined && isAnswered) this.sessions?.answered(session, nowMs);
      this.options.onReleased();
    }, undefined);
  }

  private costOf(inputTokens: number, outputTokens: number): number {
    const { inputTokenWeight, outputTokenWeight, priorityTokenWeight, priorityRequestNumWeight } = this.options.config.fairness;
    const tokens = inputTokenWeight * inputTokens + outputTokenWeight * outputTokens;
    return priorityTokenWeight * tokens + priorityRequestNumWeight;
  }

  private change(model: string, by: number): void {
    this.out += by;
    if (this.options.policies.of(model).maxConcurrent === 0) return;
    const now = (this.underWay.get(model) ?? 0) + by;
    if (now === 0) this.underWay.delete(model);
    else this.underWay.set(model, now);
    this.options.metrics.inFlight(model, by);
  }
}
