import { Annotations } from '../../src/labels';
import type { AutoscalerCluster } from '../cluster/cluster';
import type { TargetEpoch } from '../cluster/epochs';
import type { ReadOutcome, WriteOutcome } from '../cluster/outcome';
import type { TargetRef } from '../cluster/scaling';
import type { Clock } from '../lib/clock';
import type { Allocated } from './allocate';
import type { Applied, WriteFailure } from './apply/apply';
import type { Problem } from './observe/observe';
import type { Policy } from './policy';

/** A target that its controller writes to all the time is looked at again so often; the next round goes on. */
const TRIES = 3;
/** How long the view gets to show a stamp. Replicas of roles are read from it, with the version that a write must find. */
const SHOWN_MS = 2_000;

/**
 * Targets that this leader has stamped, so that nothing an earlier leader decided can be written to them any more. Does nothing where
 * nobody else can lead.
 */
export class Claims {
  /** uid of each stamped target, by its name. */
  private uids = new Map<string, string>();

  constructor(
    private readonly cluster: Pick<AutoscalerCluster, 'leadership' | 'epochs' | 'objects'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Stamps targets that this leader has not decided on yet.
   *
   * @param policies those that are acted on.
   * @param all every policy: what is no target of theirs is forgotten.
   * @returns policies that cannot be acted on, since a target of theirs could not be stamped.
   */
  async take(policies: readonly Policy[], all: readonly Policy[]): Promise<ReadonlyMap<Policy, Problem>> {
    const epoch = this.epoch();
    if (epoch === undefined) return new Map();
    this.keepOnly(all);
    const problems = new Map<string, Problem>();
    const units = new Map(policies.flatMap((policy) => policy.units.map((unit) => [keyOf(unit.target), unit] as const)));
    await Promise.all(
      [...units].map(async ([key, { target, role }]) => {
        if (this.uids.has(key)) return;
        const problem = await this.claim(target, epoch);
        if (problem !== undefined) problems.set(key, problem);
        else if (role !== undefined && this.uids.has(key)) await this.shown(target, epoch);
      }),
    );
    return new Map(
      policies.flatMap((policy) => {
        const problem = policy.units.map(({ target }) => problems.get(keyOf(target))).find((each) => each !== undefined);
        return problem === undefined ? [] : [[policy, problem] as const];
      }),
    );
  }

  /** Why a decision may not be written yet: a target of it is another one than was stamped. The next round stamps that. */
  objection(decision: Allocated): WriteFailure | undefined {
    if (decision.kind === 'unseen' || this.epoch() === undefined) return undefined;
    for (const { target, uid } of decision.writes) {
      const key = keyOf(target);
      if (this.uids.get(key) === uid) continue;
      this.uids.delete(key);
      const message = `${textOf(target)} was made anew; it is read again in the next round`;
      return { reason: 'ScaleConflict', message };
    }
    return undefined;
  }

  /** After a write that met a conflict: concedes when the target carries the mark of another leader. */
  async review(decision: Allocated, { written, failure }: Applied): Promise<void> {
    const { leadership, epochs } = this.cluster;
    const epoch = this.epoch();
    if (epoch === undefined || epochs === undefined) return;
    if (failure?.reason !== 'ScaleConflict' || decision.kind === 'unseen') return;
    const { target } = decision.writes[written.length]!;
    const read = await epochs.read(target);
    if (read.kind !== 'found' || read.value.epoch === undefined || read.value.epoch === epoch) return;
    // A target that was made anew may have been made from a copy.
    if (this.uids.get(keyOf(target)) !== read.value.uid) return;
    leadership.contest?.concede({
      code: 'leader/superseded',
      severity: 'error',
      object: textOf(target),
      message: `${read.value.epoch} has decided on it after ${epoch}, which is this process, so this process ends`,
      remedy: 'it stands by when it is started again; run one installation of the autoscaler in a cluster',
    });
  }

  private epoch(): string | undefined {
    const { leadership, epochs } = this.cluster;
    return epochs === undefined ? undefined : leadership.contest?.epoch();
  }

  private async claim(target: TargetRef, epoch: string): Promise<Problem | undefined> {
    const epochs = this.cluster.epochs!;
    for (let tries = 0; tries < TRIES; tries++) {
      const read = await epochs.read(target);
      // Whoever reads its replicas says that it is missing.
      if (read.kind === 'gone') return undefined;
      if (read.kind !== 'found') return problemOf(target, read);
      const outcome = await stamped(read.value);
      if (outcome.kind === 'applied' || outcome.kind === 'unchanged') {
        this.uids.set(keyOf(target), read.value.uid);
        return undefined;
      }
      if (outcome.kind !== 'conflict' && outcome.kind !== 'gone') return problemOf(target, outcome);
    }
    const message = `${textOf(target)} changed whenever it was to be stamped; the next round tries again`;
    return { reason: 'TargetUnreadable', message };

    function stamped({ epoch: earlier, version }: TargetEpoch): WriteOutcome | Promise<WriteOutcome> {
      return earlier === epoch ? { kind: 'unchanged', version } : epochs.stamp(target, epoch, version);
    }
  }

  /** Resolves when the view of a ModelServing shows the stamp, or after a while. */
  private shown({ namespace, name }: TargetRef, epoch: string): Promise<void> {
    const { objects } = this.cluster;
    const isShown = (): boolean =>
      objects.get('ModelServing', namespace, name)?.metadata.annotations?.[Annotations.scalerEpoch] === epoch;
    if (isShown()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        end();
        timer.cancel();
        resolve();
      };
      const end = objects.changed('ModelServing', () => {
        if (isShown()) finish();
      });
      const timer = this.clock.after(SHOWN_MS, finish);
    });
  }

  private keepOnly(policies: readonly Policy[]): void {
    const keys = new Set(policies.flatMap(({ units }) => units.map(({ target }) => keyOf(target))));
    for (const key of this.uids.keys()) if (!keys.has(key)) this.uids.delete(key);
  }
}

type Refusal = Exclude<
  ReadOutcome<never> | WriteOutcome,
  { readonly kind: 'found' | 'applied' | 'unchanged' | 'conflict' | 'gone' }
>;

function problemOf(target: TargetRef, refusal: Refusal): Problem {
  const what = `marking ${textOf(target)} with the term of this leader`;
  if (refusal.kind === 'forbidden') return { reason: 'TargetForbidden', message: `${what} is forbidden: ${refusal.message}` };
  const why = refusal.kind === 'throttled' ? 'was throttled' : `failed: ${refusal.message}`;
  return { reason: 'TargetUnreadable', message: `${what} ${why}` };
}

function keyOf({ apiVersion, kind, namespace, name }: TargetRef): string {
  return `${apiVersion.split('/')[0]}/${kind}/${namespace}/${name}`;
}

function textOf({ kind, namespace, name }: TargetRef): string {
  return `${kind} ${namespace}/${name}`;
}
