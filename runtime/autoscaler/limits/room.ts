import type { Pod } from '../../../src/api/pod';
import type { AutoscalerConfig } from '../../../src/config/autoscaler-config';
import { LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { Workloads } from '../../cluster/workloads';
import type { Allocated } from '../allocate';
import type { Applied } from '../apply/apply';
import { podState } from '../observe/target-pods';
import { type Footprint, footprintOf, replicaFootprint } from './footprint';
import { type Limit, limitsOfBudget, limitsOfQuota } from './limit';
import type { Shared } from './restrain';

/** Views of quotas that are older say nothing; a quota that was lowered in between would be exceeded. In rounds. */
const STALE_ROUNDS = 2;

/** What quotas and budgets leave, with what was written since pods were looked at. */
export class Room {
  private promised: Footprint[] = [];

  constructor(
    private readonly config: Pick<AutoscalerConfig, 'budgets' | 'dryRun' | 'syncPeriodMs'>,
    private readonly objects: Objects,
  ) {}

  /** Whether everything is computed and nothing written. */
  get isDryRun(): boolean {
    return this.config.dryRun;
  }

  /** At the start of a round, when every target is read afresh, so that what was written before shows. */
  lookAgain(view: { readonly workloadPods: Workloads }): Shared {
    this.promised = [];
    return this.look(view);
  }

  look({ workloadPods }: { readonly workloadPods: Workloads }): Shared {
    const limits = this.limits();
    const isDryRun = this.config.dryRun;
    if (limits.length === 0) return { limits, taken: [], workloadPods, isDryRun };
    const pods = this.objects.list('Pod').filter((pod) => podState(pod) !== 'failed' && pod.status?.phase !== 'Succeeded');
    const sizes = replicaSizes(pods);
    return { limits, taken: [...pods.map((pod) => footprintOf(pod, sizes.get(pod))), ...this.promised], workloadPods, isDryRun };
  }

  /** Counts what a decision has written, until pods show it. */
  promise(allocated: Extract<Allocated, { kind: 'decided' }>, { written }: Applied, workloadPods: Workloads): void {
    if (this.limits().length === 0) return;
    for (const write of written) {
      for (const unit of allocated.policy.units) {
        if (unit.target.name !== write.target.name || unit.target.namespace !== write.target.namespace) continue;
        const added =
          write.kind === 'scale' ? write.to - write.from : (write.to[unit.role ?? ''] ?? 0) - (write.from[unit.role ?? ''] ?? 0);
        const one = added > 0 ? replicaFootprint(unit, workloadPods) : [];
        for (let i = 0; i < added; i++) this.promised.push(...one);
      }
    }
  }

  private limits(): readonly Limit[] {
    const { config } = this;
    const { isSynced, ageMs } = this.objects.freshness('ResourceQuota');
    const quotas = isSynced ? this.objects.list('ResourceQuota').flatMap(limitsOfQuota) : [];
    const isStale = !isSynced || ageMs > STALE_ROUNDS * config.syncPeriodMs;
    const readable = isStale ? [{ name: 'ResourceQuota', of: 'gpus' as const, most: undefined }] : quotas;
    return [...config.budgets.flatMap(limitsOfBudget), ...readable];
  }
}

/** Of pods whose replica has several, all of which carry its whole price: how many. */
function replicaSizes(pods: readonly Pod[]): ReadonlyMap<Pod, number> {
  const replicas = new Map<string, Pod[]>();
  for (const pod of pods) {
    const { labels = {}, namespace } = pod.metadata;
    const replica = labels[LeaderWorkerLabels.groupKey] ?? (labels[Labels.modelServingName] && labels[Labels.modelServingGroup]);
    if (replica === undefined) continue;
    const known = replicas.get(`${namespace}/${replica}`);
    if (known === undefined) replicas.set(`${namespace}/${replica}`, [pod]);
    else known.push(pod);
  }
  return new Map([...replicas.values()].flatMap((all) => all.map((pod) => [pod, all.length] as const)));
}
