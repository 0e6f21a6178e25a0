import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../../lib/metrics';
import type { Allocated } from '../allocate';
import type { Applied } from '../apply/apply';
import type { Decision, UnitDecision } from '../decide/decision';
import type { TargetHandle } from '../observe/target-handle';
import type { PolicyUnit } from '../policy';
import type { Claim } from './conditions';
import { readyReplicas } from './ready-replicas';

/** Conditions whose absence is bad. */
const SHOULD_HOLD: ReadonlySet<string> = new Set(['TargetFound', 'Ready']);

/** The autoscaler's own metrics. Gauges tell the last round only, so that a deleted policy leaves none behind. */
export class AutoscalerMetrics {
  private readonly replicas: Gauge;
  private readonly cost: Gauge;
  private readonly conditions: Gauge;
  private readonly scales: Counter;
  private readonly scrapes: Counter;
  private readonly roundSeconds: Histogram;
  private readonly reported: {
    readonly policy: string;
    readonly units: readonly (UnitDecision & { readonly ready: number })[];
    readonly claims: readonly Claim[];
    readonly cost: number | undefined;
  }[] = [];

  /** @param isLeader whether this process may write, asked at each scrape. */
  constructor({ registry }: Metrics, isLeader: () => boolean) {
    const registers = [registry];
    new Gauge({
      name: 'kvasir_autoscaler_leader',
      help: '1 while this process leads, 0 while it stands by.',
      registers,
      collect() {
        this.set(isLeader() ? 1 : 0);
      },
    });
    this.replicas = new Gauge({
      name: 'kvasir_autoscaler_replicas',
      help: 'Replicas per policy and target: current as asked for, ready, recommended by metrics, desired after all rules.',
      labelNames: ['policy', 'target', 'of'],
      registers,
    });
    this.cost = new Gauge({
      name: 'kvasir_autoscaler_mix_cost',
      help: 'Cost of the mix of replicas that a policy over several pools wants, in the unit of its costs.',
      labelNames: ['policy'],
      registers,
    });
    this.conditions = new Gauge({
      name: 'kvasir_autoscaler_condition',
      help: '1 for each condition of a policy that holds, 0 for one of TargetFound and Ready that does not.',
      labelNames: ['policy', 'condition', 'reason'],
      registers,
    });
    this.scales = new Counter({
      name: 'kvasir_autoscaler_scales_total',
      help: 'Replica counts written.',
      labelNames: ['policy', 'direction'],
      registers,
    });
    this.scrapes = new Counter({
      name: 'kvasir_autoscaler_scrapes_total',
      help: 'Metrics pages asked for.',
      labelNames: ['result'],
      registers,
    });
    this.roundSeconds = new Histogram({
      name: 'kvasir_autoscaler_round_seconds',
      help: 'Length of a round.',
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers,
    });
  }

  report({ policy, ...allocated }: Allocated, { written }: Applied, claims: readonly Claim[]): void {
    const name = policy.name;
    const decision = allocated.kind === 'decided' ? allocated.decision : undefined;
    const units = allocated.kind === 'decided' ? withReady(allocated.decision, allocated.handles, policy.units) : [];
    this.reported.push({ policy: name, units, claims, cost: decision?.mix?.cost });
    for (const write of written) {
      const changes =
        write.kind === 'scale'
          ? [write.to - write.from]
          : Object.keys(write.to).map((role) => write.to[role]! - write.from[role]!);
      for (const change of changes) this.scales.inc({ policy: name, direction: change > 0 ? 'up' : 'down' });
    }
  }

  /** Shows what was reported since the last call, at once, so that no scrape sees half a round. */
  endRound(seconds: number, { asked, failed }: { readonly asked: number; readonly failed: number }): void {
    this.replicas.reset();
    this.cost.reset();
    this.conditions.reset();
    for (const { policy, units, claims, cost } of this.reported.splice(0)) {
      if (cost !== undefined) this.cost.set({ policy }, cost);
      for (const { name: target, current, ready, recommended, desired } of units) {
        this.replicas.set({ policy, target, of: 'current' }, current);
        this.replicas.set({ policy, target, of: 'ready' }, ready);
        this.replicas.set({ policy, target, of: 'desired' }, desired);
        if (recommended !== undefined) this.replicas.set({ policy, target, of: 'recommended' }, recommended);
      }
      for (const { type, reason, status } of claims) {
        if (status === 'True') this.conditions.set({ policy, condition: type, reason }, 1);
        else if (status === 'False' && SHOULD_HOLD.has(type)) this.conditions.set({ policy, condition: type, reason }, 0);
      }
    }
    this.roundSeconds.observe(seconds);
    this.scrapes.inc({ result: 'answered' }, asked - failed);
    this.scrapes.inc({ result: 'failed' }, failed);
  }
}

function withReady({ units }: Decision, handles: readonly TargetHandle[], named: readonly PolicyUnit[]) {
  return units.map((unit, i) => ({ ...unit, ready: readyReplicas(handles[i]!.pods, named[i]!.role) }));
}
