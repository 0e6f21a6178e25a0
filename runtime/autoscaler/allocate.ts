import { Annotations } from '../../src/labels';
import type { TargetRef } from '../cluster/scaling';
import type { Decision } from './decide/decision';
import type { Rest } from './decide/observation';
import { restrain, type Shared } from './limits/restrain';
import type { PoolRate } from './observe/capacity-book';
import type { MetricInput } from './observe/metric-input';
import type { Observed } from './observe/observe';
import type { TargetHandle } from './observe/target-handle';
import type { Policy } from './policy';

/** What a policy wants, before it is known whether it may have it. */
export type Recommended =
  | Extract<Observed, { kind: 'unseen' }>
  | {
      readonly kind: 'decided';
      readonly policy: Policy;
      readonly decision: Decision;
      readonly handles: readonly TargetHandle[];
      /** What was seen of each unit's rest at zero. */
      readonly rests: readonly (Rest | undefined)[];
      /** What was read of each unit's metrics. */
      readonly inputs?: readonly (readonly MetricInput[])[];
      /** What was learned of the engines of each unit. */
      readonly learned?: readonly (PoolRate['learned'] | undefined)[];
    };

/** Why a decision is not carried out. */
export type Hold =
  | { readonly reason: 'TargetConflict'; readonly message: string }
  | { readonly reason: 'ForeignController'; readonly message: string }
  | { readonly reason: 'Paused'; readonly message: string }
  | { readonly reason: 'RecommendOnly'; readonly message: string }
  | { readonly reason: 'DryRun'; readonly message: string };

/** One change to make, with the version of the target that the decision was made on. */
export type Write =
  | {
      readonly kind: 'scale';
      readonly target: TargetRef;
      readonly uid: string;
      readonly version: string;
      readonly from: number;
      readonly to: number;
    }
  | {
      readonly kind: 'roles';
      readonly target: TargetRef;
      readonly uid: string;
      readonly version: string;
      readonly from: Readonly<Record<string, number>>;
      readonly to: Readonly<Record<string, number>>;
    };

export type Allocated =
  | Extract<Recommended, { kind: 'unseen' }>
  | (Extract<Recommended, { kind: 'decided' }> & { readonly hold?: Hold; readonly writes: readonly Write[] });

/** Who else scales objects of the cluster. */
export interface ForeignScaler {
  /** `Kind namespace/name`. */
  readonly name: string;
  /** `every policy`: Kthena's own autoscaler, which acts on the same policies. */
  readonly target: Pick<TargetRef, 'kind' | 'namespace' | 'name'> | 'every policy';
}

/**
 * Settles over all policies at once who may write what: of several policies on one target the oldest acts, and nobody acts on a target
 * that another controller scales. What is left is bent to what policies share. `policies` are all of them, in order of precedence, and `recommended` is of some or all. Pure.
 */
export function allocate(
  recommended: readonly Recommended[],
  policies: readonly Policy[],
  foreign: readonly ForeignScaler[],
  shared: Shared,
): readonly Allocated[] {
  const owners = ownersOf(policies);
  const held = recommended.map(({ policy }) => holdOn(policy, owners, foreign, shared.isDryRun));
  // What a dry run or a recommendation says is what would be written.
  const acting = recommended.map((item, i) =>
    item.kind === 'decided' && (held[i] === undefined || isOwn(held[i])) ? item : undefined,
  );
  const decisions = restrain(
    acting.flatMap((item) => item ?? []),
    shared,
  );
  let at = 0;
  return recommended.map((item, i): Allocated => {
    if (item.kind === 'unseen') return item;
    const decision = acting[i] === undefined ? item.decision : decisions[at++]!;
    const hold = held[i];
    const settled = { ...item, decision };
    return { ...settled, ...(hold !== undefined && { hold }), writes: hold === undefined ? writesOf(settled) : [] };
  });
}

/** Those of `policies` whose decisions are carried out. Pure. */
export function actingPolicies(
  policies: readonly Policy[],
  foreign: readonly ForeignScaler[],
  isDryRun: boolean,
): readonly Policy[] {
  const owners = ownersOf(policies);
  return policies.filter((policy) => holdOn(policy, owners, foreign, isDryRun) === undefined);
}

function holdOn(
  policy: Policy,
  owners: ReadonlyMap<string, Policy>,
  foreign: readonly ForeignScaler[],
  isDryRun: boolean,
): Hold | undefined {
  const taken = policy.units.flatMap((unit) => {
    const owner = owners.get(claimOf(unit.target));
    return owner === undefined || owner === policy ? [] : [{ owner, target: unit.target }];
  });
  return taken[0] === undefined ? (heldByForeign(policy, foreign) ?? heldByUser(policy, isDryRun)) : conflict(taken[0]);
}

function isOwn({ reason }: Hold): boolean {
  return reason === 'Paused' || reason === 'RecommendOnly' || reason === 'DryRun';
}

/** Who acts on each target: the first policy of those whose targets nobody before them has. */
function ownersOf(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  const owners = new Map<string, Policy>();
  for (const policy of policies) {
    const claims = policy.units.map(({ target }) => claimOf(target));
    if (!claims.some((claim) => owners.has(claim))) for (const claim of claims) owners.set(claim, policy);
  }
  return owners;
}

function claimOf({ kind, apiVersion, namespace, name }: TargetRef): string {
  return `${apiVersion.split('/')[0]}/${kind}/${namespace}/${name}`;
}

function conflict({ owner, target }: { readonly owner: Policy; readonly target: TargetRef }): Hold {
  const message = `${owner.name} is older and scales ${target.kind} ${target.namespace}/${target.name}; delete one of the two`;
  return { reason: 'TargetConflict', message };
}

function heldByForeign(policy: Policy, foreign: readonly ForeignScaler[]): Hold | undefined {
  const other = policy.isChosen ? undefined : foreign.find(({ target }) => target === 'every policy');
  if (other !== undefined) {
    const message = `${other.name} runs Kthena's autoscaler, which acts on the same policies; give it --controllers=*,-autoscaler, or the policy the annotation ${Annotations.autoscalerClass}: kvasir where it does not see it`;
    return { reason: 'ForeignController', message };
  }
  for (const { target } of policy.units) {
    const scaler = foreign.find(
      (other) =>
        other.target !== 'every policy' &&
        other.target.kind === target.kind &&
        other.target.namespace === target.namespace &&
        other.target.name === target.name,
    );
    if (scaler === undefined) continue;
    const message = `${scaler.name} scales ${target.kind} ${target.namespace}/${target.name}; delete one of the two`;
    return { reason: 'ForeignController', message };
  }
  return undefined;
}

function heldByUser({ isPaused, isRecommendOnly }: Policy, isDryRun: boolean): Hold | undefined {
  if (isDryRun) return { reason: 'DryRun', message: 'dryRun is set in the configuration of the autoscaler' };
  if (isPaused) return { reason: 'Paused', message: 'the annotation kvasir.dev/pause is true' };
  if (isRecommendOnly) return { reason: 'RecommendOnly', message: 'the annotation kvasir.dev/recommend-only is true' };
  return undefined;
}

function writesOf({ policy, decision, handles }: Extract<Recommended, { kind: 'decided' }>): readonly Write[] {
  const changed = decision.units.flatMap((unit, i) =>
    unit.desired === unit.current ? [] : [{ unit, named: policy.units[i]!, handle: handles[i]! }],
  );
  const [first] = changed;
  if (first === undefined) return [];
  if (policy.spec.target.kind === 'disaggregated') {
    const from = Object.fromEntries(changed.map(({ unit }) => [unit.name, unit.current]));
    const to = Object.fromEntries(changed.map(({ unit }) => [unit.name, unit.desired]));
    return [{ kind: 'roles', target: first.named.target, ...identityOf(first.handle), from, to }];
  }
  return changed.map(({ unit, named, handle }) => ({
    kind: 'scale',
    target: named.target,
    ...identityOf(handle),
    from: unit.current,
    to: unit.desired,
  }));
}

function identityOf({ uid, version }: TargetHandle): Pick<TargetHandle, 'uid' | 'version'> {
  return { uid, version };
}
