import { conditionOf, type PolicyView } from '../look/policy-view';
import { ageText, UNKNOWN } from '../look/texts';
import type { TableOf } from './table-of';

export interface PolicyRow {
  readonly policy: PolicyView;
  readonly at: string;
}

const sum = (counts: readonly (number | undefined)[]): string =>
  counts.length === 0 || counts.some((count) => count === undefined)
    ? UNKNOWN
    : String(counts.reduce((total, count) => total! + count!, 0));

/** What `kvasir get policies` shows. */
export const POLICY_TABLE: TableOf<PolicyRow> = {
  columns: [
    { title: 'NAMESPACE', cell: ({ policy }) => policy.object.metadata.namespace ?? 'default', isText: true },
    { title: 'NAME', cell: ({ policy }) => policy.object.metadata.name, isText: true },
    { title: 'MIN', cell: ({ policy }) => sum(policy.units.map(({ min }) => min)), isText: true },
    { title: 'MAX', cell: ({ policy }) => sum(policy.units.map(({ max }) => max)), isText: true },
    { title: 'REPLICAS', cell: ({ policy }) => sum(policy.units.map(({ current }) => current)), isText: true },
    { title: 'WANTED', cell: ({ policy }) => sum(policy.units.map(({ wanted }) => wanted)), isText: true },
    { title: 'READY', cell: ({ policy }) => conditionOf(policy, 'Ready')?.status ?? UNKNOWN, isText: true },
    { title: 'REASON', cell: ({ policy }) => reasonOf(policy) ?? UNKNOWN, isText: true },
    { title: 'SCALED', cell: ({ policy, at }) => ageText(lastScaled(policy), at), isText: true },
    {
      title: 'TARGETS',
      cell: ({ policy }) => [...new Set(policy.units.map(({ workload }) => workload.replace(/ .*\//, '/')))].join(','),
      isText: true,
      isWide: true,
    },
    { title: 'KIND', cell: ({ policy }) => policy.object.kind, isText: true, isWide: true },
  ],
  document: ({ policy: { object, units, conditions, heldBy } }) => ({
    kind: object.kind,
    name: object.metadata.name,
    namespace: object.metadata.namespace ?? 'default',
    units,
    heldBy: heldBy ?? null,
    conditions,
  }),
};

/** Why it is not ready, else what limits it. */
export function reasonOf(policy: PolicyView): string | undefined {
  const ready = conditionOf(policy, 'Ready');
  if (ready === undefined || ready.status === 'False') return ready?.reason;
  const limited = conditionOf(policy, 'Limited');
  return limited?.status === 'True' ? limited.reason : ready.reason;
}

/** When any of its units was last scaled. */
export function lastScaled({ units }: PolicyView): string | undefined {
  return units
    .flatMap(({ lastScaleTime }) => lastScaleTime ?? [])
    .sort()
    .at(-1);
}
