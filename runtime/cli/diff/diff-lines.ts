import type { Bounds } from '../../../src/checks/planned-workloads';
import { costText, gpusText } from '../manifests/cost-text';
import type { ManifestDiff, ObjectChange } from './diff-manifests';
import type { Effect } from './effects';
import type { FieldChange } from './field-changes';

/** A value longer than this is cut: a script in a ConfigMap would fill the screen. */
const LONGEST_VALUE = 80;

/** A diff as people read it: each object, what changes in it, what that does; then sums. */
export function diffLines({ changes, unchanged, bill }: ManifestDiff): readonly string[] {
  if (changes.length === 0) return [`no difference in ${unchanged} objects`];
  const count = (change: ObjectChange['change']): number => changes.filter((entry) => entry.change === change).length;
  return [
    ...changes.flatMap(({ change, object, fields, effects }) => [
      `${change} ${object}`,
      ...fields.map((field) => `  ${fieldText(field)}`),
      ...effects.map((effect) => `  ! ${effectText(effect)}`),
    ]),
    `${count('changed')} changed, ${count('added')} added, ${count('removed')} removed, ${unchanged} unchanged`,
    ...sums(changes),
    `GPUs ${arrow(gpusText(bill.before.min, bill.before.max), gpusText(bill.after.min, bill.after.max))}`,
    `cost per hour ${arrow(costText(bill.before.min, bill.before.max), costText(bill.after.min, bill.after.max))}`,
  ];
}

function fieldText({ field, before, after }: FieldChange): string {
  if (before === undefined) return `${field}: new, ${valueText(after)}`;
  if (after === undefined) return `${field}: gone, was ${valueText(before)}`;
  return `${field}: ${valueText(before)} → ${valueText(after)}`;
}

function effectText(effect: Effect): string {
  switch (effect.kind) {
    case 'replaced': {
      const pods = effect.pods === undefined ? '' : `; its ${boundsText(effect.pods)} pods start with cold caches`;
      return `cannot change in place (${effect.fields.join(', ')}): the sync fails until it is deleted and made anew${pods}`;
    }
    case 'restarts':
      return `restarts ${boundsText(effect.pods)} pods, which start with cold caches`;
    case 'fewer-replicas':
      return `drops replicas: ${boundsText(effect.before)} → ${boundsText(effect.after)}`;
    case 'resets-replicas':
      return `a scaler takes over ${effect.before} replicas: the first sync resets them to 1, then it scales up again`;
    case 'stops':
      return `stops ${boundsText(effect.replicas)} replicas, ${boundsText(effect.pods)} pods`;
    case 'stays':
      return 'stays in the cluster, as it is never pruned; delete it by hand when nothing needs it';
  }
}

/** How many workloads are replaced, restarted or lose replicas. */
function sums(changes: readonly ObjectChange[]): readonly string[] {
  const count = (...kinds: readonly Effect['kind'][]): number =>
    changes.filter(({ effects }) => effects.some(({ kind }) => kinds.includes(kind))).length;
  const parts = [
    [count('replaced'), 'replaced'],
    [count('restarts'), 'restarted'],
    [count('fewer-replicas', 'stops', 'resets-replicas'), 'with dropped replicas'],
  ] as const;
  const told = parts.filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`);
  return told.length === 0 ? [] : [told.join(', ')];
}

const boundsText = ({ min, max }: Bounds): string => (min === max ? String(min) : `${min}–${max}`);
const arrow = (before: string, after: string): string => (before === after ? before : `${before} → ${after}`);

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1)}…`;
}
