import { isDeepStrictEqual } from 'node:util';
import type { AutoscalingPolicyStatus } from '../../../src/api/autoscaling-policy';
import type { Events, Status } from '../../cluster/cluster';
import type { WriteOutcome } from '../../cluster/outcome';
import type { Clock } from '../../lib/clock';
import type { Logger } from '../../lib/logger';
import type { Allocated, Write } from '../allocate';
import type { Applied } from '../apply/apply';
import type { Policy, UnusablePolicy } from '../policy';
import type { AutoscalerMetrics } from './autoscaler-metrics';
import { type Claim, conditionsOf, conditionsOfUnusable, toConditions } from './conditions';
import type { ExplainedRound, ExplainRing } from './explain-ring';
import { statusOf } from './status';

/** Tells what was decided: status and Events in the cluster, metrics, the explanation ring and the log. */
export class Reporter {
  /** What each policy's status said last, which the cluster's cache may not show yet. */
  private readonly reported = new Map<string, AutoscalingPolicyStatus>();

  constructor(
    private readonly parts: {
      readonly clock: Clock;
      readonly status: Status;
      readonly events: Events;
      readonly metrics: AutoscalerMetrics;
      readonly ring: ExplainRing;
      readonly log: Logger;
      readonly onDecision?: (round: ExplainedRound) => void;
    },
  ) {}

  async report(allocated: Allocated, applied: Applied): Promise<void> {
    const { policy } = allocated;
    const claims = conditionsOf(allocated, applied);
    const now = this.now();
    const before = this.before(policy);
    const conditions = toConditions(claims, before?.conditions ?? [], now, policy.object.metadata.generation);
    for (const write of applied.written) this.noteWrite(policy, write);
    await this.write(policy, statusOf(allocated, applied, conditions, before, now), before, claims);
    this.parts.metrics.report(allocated, applied, claims);
    const explained = this.parts.ring.add(now, allocated, applied, claims);
    this.parts.onDecision?.(explained);
  }

  async reportUnusable(policy: UnusablePolicy): Promise<void> {
    const claims = conditionsOfUnusable(policy);
    const before = this.before(policy);
    const { generation } = policy.object.metadata;
    const conditions = toConditions(claims, before?.conditions ?? [], this.now(), generation);
    await this.write(policy, { ...(generation !== undefined && { observedGeneration: generation }), conditions }, before, claims);
  }

  /** Forgets what is not there any more. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.reported.keys()) if (!ids.has(id)) this.reported.delete(id);
    this.parts.ring.keepOnly((id) => ids.has(id));
  }

  private now(): string {
    return `${new Date(this.parts.clock.now()).toISOString().slice(0, 19)}Z`;
  }

  private before({ id, object }: UnusablePolicy | Policy): AutoscalingPolicyStatus | undefined {
    return this.reported.get(id) ?? object.status;
  }

  private async write(
    { id, name, object }: UnusablePolicy | Policy,
    status: AutoscalingPolicyStatus,
    before: AutoscalingPolicyStatus | undefined,
    claims: readonly Claim[],
  ): Promise<void> {
    if (isDeepStrictEqual(status, before)) return;
    const outcome: WriteOutcome =
      object.kind === 'AutoscalingPolicy'
        ? await this.parts.status.report('AutoscalingPolicy', object, status)
        : await this.parts.status.report('AutoscalingPolicyBinding', object, status);
    if (outcome.kind !== 'applied' && outcome.kind !== 'unchanged') {
      this.parts.log.warn({ policy: name, outcome: outcome.kind }, 'status was not written; tried again in the next round');
      return;
    }
    this.reported.set(id, status);
    for (const claim of claims) this.noteClaim(object, name, claim, before);
  }

  private noteWrite({ object, name }: Policy, write: Write): void {
    const what = `${write.target.kind} ${write.target.namespace}/${write.target.name}`;
    const changes =
      write.kind === 'scale'
        ? [{ what, from: write.from, to: write.to }]
        : Object.entries(write.to).map(([role, to]) => ({ what: `role ${role} of ${what}`, from: write.from[role]!, to }));
    for (const { what: scaled, from, to } of changes) {
      const reason = scaleReason(from, to);
      this.parts.events.note(object, 'Normal', reason, `${scaled} from ${from} to ${to} replicas`);
      this.parts.log.info({ policy: name, target: scaled, from, to }, reason);
    }
  }

  /** An Event when readiness or the availability of metrics changes. */
  private noteClaim(regarding: Policy['object'], name: string, claim: Claim, before: AutoscalingPolicyStatus | undefined): void {
    const earlier = before?.conditions?.find(({ type }) => type === claim.type);
    if (earlier?.status === claim.status && earlier.reason === claim.reason) return;
    const isBad =
      (claim.type === 'Ready' && claim.status === 'False') || (claim.type === 'MetricMissing' && claim.status === 'True');
    const isMended = claim.type === 'Ready' && claim.status === 'True' && earlier !== undefined;
    if (!isBad && !isMended) return;
    this.parts.events.note(regarding, isBad ? 'Warning' : 'Normal', claim.reason, claim.message);
    if (isBad) this.parts.log.warn({ policy: name, reason: claim.reason }, claim.message);
  }
}

function scaleReason(from: number, to: number): string {
  if (from === 0) return 'ScaledFromZero';
  if (to === 0) return 'ScaledToZero';
  return to > from ? 'ScaledUp' : 'ScaledDown';
}
