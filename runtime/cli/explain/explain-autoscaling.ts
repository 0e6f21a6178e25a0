import { limitedBy } from '../../autoscaler/report/conditions';
import type { ExplainedRound } from '../../autoscaler/report/explain-ring';
import { type Look, nowOf } from '../look/look';
import { named } from '../look/named';
import { type PolicyUnitView, type PolicyView, policyViews } from '../look/policy-view';
import { ageText, counted, UNKNOWN } from '../look/texts';
import { type Explanation, section } from './explanation';

/** How many changes of replicas are told, the last ones. */
const MOST_CHANGES = 5;

/**
 * What a policy decided last and why: inputs, what metrics ask for, each rule that changed it, the outcome, and its price. From the
 * autoscaler's own rounds where one was asked, else from the policy's status.
 */
export async function explainAutoscaling(look: Look, name: string, namespace: string | undefined): Promise<Explanation> {
  const views = policyViews(look);
  const object = named(
    name,
    views.map((view) => view.object),
    'policy',
    namespace,
  );
  const policy = views.find((view) => view.object === object)!;
  const rounds = await roundsOf(look, policy);
  const last = rounds.at(-1);
  const units = policy.units.map((unit, index) => ({ unit, decided: last?.units[index], inputs: last?.inputs?.[index] ?? [] }));
  const costPerHour = costOf(
    units.map(({ unit, decided }) => ({ unit, replicas: decided?.desired ?? unit.current })),
    look,
  );
  const changes = changesIn(rounds).slice(-MOST_CHANGES);
  return {
    lines: [
      headOf(policy, last, look),
      ...units.flatMap(({ unit, decided, inputs }) => unitLines(unit, decided, inputs, policy.units.length > 1, nowOf(look))),
      ...(last?.mix === undefined ? [] : section('mix', mixLines(last.mix, policy.units))),
      ...section('price', costPerHour === undefined ? [] : [`${costPerHour.toFixed(2)} per hour`]),
      ...section('held', [
        ...(last?.hold === undefined ? [] : [last.hold]),
        ...(last === undefined && policy.heldBy !== undefined ? [`by its annotation: ${policy.heldBy}`] : []),
      ]),
      ...section('says', conditionLines(policy)),
      ...section(
        'changes',
        changes.map(({ at, what, from, to }) => `${ageText(at, nowOf(look))} ago  ${what} ${from} → ${to}`),
      ),
    ],
    document: {
      policy: policy.name,
      algorithm: last?.algorithm ?? null,
      at: last?.at ?? null,
      source: last === undefined ? 'status' : 'round',
      units: units.map(({ unit, decided, inputs }) => ({
        ...unit,
        inputs,
        verdicts: decided?.verdicts ?? [],
        recommended: decided?.recommended ?? unit.wanted ?? null,
        limits: (decided?.limits ?? []).map((limit) => ({ ...limit, reason: limitedBy(limit)[0], message: limitedBy(limit)[1] })),
        desired: decided?.desired ?? null,
      })),
      mix: last?.mix ?? null,
      costPerHour: costPerHour ?? null,
      hold: last?.hold ?? policy.heldBy ?? null,
      conditions: policy.conditions,
      changes,
    },
  };
}

async function roundsOf({ autoscaler }: Look, { name }: PolicyView): Promise<readonly ExplainedRound[]> {
  if (autoscaler === undefined) return [];
  const { rounds } = await autoscaler.page<{ readonly rounds: readonly ExplainedRound[] }>(
    `/debug/explain?policy=${encodeURIComponent(name)}`,
  );
  return rounds;
}

function headOf({ name, conditions }: PolicyView, last: ExplainedRound | undefined, look: Look): string {
  if (last !== undefined)
    return `${name}, as the round of ${ageText(last.at, nowOf(look))} ago decided (algorithm ${last.algorithm})`;
  if (conditions.length > 0) return `${name}, as its status says; give --autoscaler for each metric and rule`;
  return `${name}: nothing was decided yet${look.isLive ? '' : ', this is a folder'}`;
}

function unitLines(
  unit: PolicyUnitView,
  decided: ExplainedRound['units'][number] | undefined,
  inputs: NonNullable<ExplainedRound['inputs']>[number],
  isOneOfSeveral: boolean,
  now: string,
): readonly string[] {
  const current = decided?.current ?? unit.current;
  const bounds = `${unit.min}–${unit.max}`;
  const head = isOneOfSeveral ? [`${unit.name}${unit.workload.endsWith(`/${unit.name}`) ? '' : `, of ${unit.workload}`}`] : [];
  const indent = isOneOfSeveral ? '  ' : '';
  const lines = [
    ...section('now', [
      current === undefined ? `${bounds} replicas are allowed` : `${counted(current, 'replica')}, ${bounds} are allowed`,
    ]),
    ...section(
      'reads',
      inputs.map((input) => {
        if (input.sum === undefined) return `${input.name}: nothing, ${input.missing}`;
        const from = input.answered === undefined ? 'as a whole' : `from ${counted(input.answered, 'replica')}`;
        return `${input.name}: ${rounded(input.sum)} ${from}; ${rounded(input.target)} are meant for each`;
      }),
    ),
    ...section('asks for', [
      ...(decided?.verdicts ?? []).map(({ name, replicas, missing }) =>
        replicas === undefined ? `nothing by ${name}: ${missing ?? 'it could not be read'}` : `${replicas} by ${name}`,
      ),
      ...(decided === undefined && unit.wanted !== undefined ? [String(unit.wanted)] : []),
    ]),
    ...section(
      'then',
      (decided?.limits ?? []).map((limit) => {
        const [reason, message] = limitedBy(limit);
        return `${limit.from} → ${limit.to}  ${reason}: ${message}`;
      }),
    ),
    ...(decided === undefined
      ? []
      : section('result', [
          `${counted(decided.desired, 'replica')}${decided.desired === decided.current ? ', as now' : ''}${decided.mode === 'Stable' ? '' : ` (${decided.mode})`}`,
        ])),
    ...(unit.lastScaleTime === undefined ? [] : section('scaled', [`${ageText(unit.lastScaleTime, now)} ago`])),
  ];
  return [...head, ...lines.map((line) => `${indent}${line}`)];
}

function mixLines(
  { load, capacities, cost }: NonNullable<ExplainedRound['mix']>,
  units: readonly PolicyUnitView[],
): readonly string[] {
  const carries = capacities.map((capacity, index) => `${units[index]?.name ?? index} ${rounded(capacity)}`).join(', ');
  return [`a load of ${rounded(load)}, and a replica carries: ${carries}; this mix costs ${rounded(cost)} in the policy's units`];
}

/** What conditions say besides that all is well. */
function conditionLines({ conditions }: PolicyView): readonly string[] {
  const good: Readonly<Record<string, string>> = { Ready: 'True', TargetFound: 'True' };
  return conditions
    .filter(({ type, status, message }) => status !== (good[type] ?? 'False') || (type === 'Ready' && message !== ''))
    .map(({ type, status, reason, message }) => `${type} ${status}, ${reason}${message === '' ? '' : `: ${message}`}`);
}

/** Price of some replicas of each unit; undefined where a price is not known, or units are roles of one workload. */
function costOf(
  units: readonly { readonly unit: PolicyUnitView; readonly replicas: number | undefined }[],
  { snapshot }: Look,
): number | undefined {
  const prices = units.map(({ unit, replicas }) => {
    const workload = snapshot.workloads.find(
      ({ target }) => `${target.kind} ${target.namespace}/${target.name}` === unit.workload,
    );
    const isRole = workload !== undefined && workload.target.name !== unit.name;
    if (isRole || replicas === undefined || workload?.costPerReplicaHour === undefined) return undefined;
    return replicas * workload.costPerReplicaHour;
  });
  return prices.some((price) => price === undefined) ? undefined : prices.reduce<number>((sum, price) => sum + price!, 0);
}

interface Change {
  readonly at: string;
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

function changesIn(rounds: readonly ExplainedRound[]): readonly Change[] {
  return rounds.flatMap(({ at, written }) =>
    written.flatMap((write): readonly Change[] =>
      write.kind === 'scale'
        ? [{ at, what: write.target.name, from: write.from, to: write.to }]
        : Object.entries(write.to).map(([role, to]) => ({ at, what: role, from: write.from[role] ?? to, to })),
    ),
  );
}

const rounded = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : UNKNOWN);
