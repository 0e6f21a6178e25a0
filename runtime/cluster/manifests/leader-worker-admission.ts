import type { KubeObject } from '../../../src/api/meta';
import type { Finding } from '../../../src/errors';
import { workloadKindOf } from '../../../src/expand/expand-workload';
import type { DisaggregatedSet, LeaderWorkerSet, LeaderWorkerSpec } from '../../../src/expand/leader-worker-workload';

type Problem = Pick<Finding, 'code' | 'field' | 'message' | 'remedy'>;
/** As written, before anything is known of it. */
type Unchecked<T> = T extends readonly (infer E)[]
  ? readonly Unchecked<E>[] | undefined
  : T extends object
    ? { readonly [K in keyof T]?: Unchecked<T[K]> } | undefined
    : unknown;

export function isLeaderWorkerKind(object: KubeObject): boolean {
  const kind = workloadKindOf(object);
  return kind === 'LeaderWorkerSet' || kind === 'DisaggregatedSet';
}

/** What keeps a LeaderWorkerSet or DisaggregatedSet from having pods. */
export function leaderWorkerProblem(object: KubeObject): Problem | undefined {
  if (object.kind === 'LeaderWorkerSet') return specProblem((object as Unchecked<LeaderWorkerSet>)?.spec, 'spec');
  const { slices = 1, roles } = (object as Unchecked<DisaggregatedSet>)?.spec ?? {};
  if (!Array.isArray(roles) || roles.length < 2) {
    return { code: 'workload/roles', field: 'spec.roles', message: 'has fewer than two roles', remedy: 'use a LeaderWorkerSet' };
  }
  const names = roles.map((role) => role?.name);
  if (names.some((name, i) => typeof name !== 'string' || names.indexOf(name) !== i)) {
    return { code: 'workload/roles', field: 'spec.roles', message: 'lacks a name of its own', remedy: 'name each role once' };
  }
  const problem = countProblem(slices, 'spec.slices', 1);
  if (problem !== undefined) return problem;
  for (const [i, role] of roles.entries()) {
    const found = specProblem(role?.spec, `spec.roles[${i}].spec`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function specProblem(spec: Unchecked<LeaderWorkerSpec>, field: string): Problem | undefined {
  const template = spec?.leaderWorkerTemplate;
  for (const place of ['leaderTemplate', 'workerTemplate'] as const) {
    const pods = template?.[place] as { readonly spec?: { readonly containers?: unknown } } | undefined;
    if (place === 'leaderTemplate' && pods === undefined) continue;
    const at = `${field}.leaderWorkerTemplate.${place}.spec.containers`;
    const containers = pods?.spec?.containers;
    if (!Array.isArray(containers) || containers.length === 0) {
      return { code: 'workload/containers', field: at, message: 'names no container', remedy: 'add at least one' };
    }
  }
  return (
    countProblem(spec?.replicas ?? 1, `${field}.replicas`, 0) ??
    countProblem(template?.size ?? 1, `${field}.leaderWorkerTemplate.size`, 1)
  );
}

function countProblem(value: unknown, field: string, least: number): Problem | undefined {
  if (Number.isSafeInteger(value) && (value as number) >= least) return undefined;
  const message = `${JSON.stringify(value)} is no count`;
  return { code: 'workload/replicas', field, message, remedy: `use a whole number from ${least}` };
}
