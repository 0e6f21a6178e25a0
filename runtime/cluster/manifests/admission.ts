import { isDeepStrictEqual } from 'node:util';
import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import { describeObject, type KubeObject, selects } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { type Finding, findingLine } from '../../../src/errors';
import { kindKeyOf, refOf } from '../object-source';
import { isLeaderWorkerKind, leaderWorkerProblem } from './leader-worker-admission';
import { asGivenPod, isGivenPod } from './pod-status';

export type Admitted =
  | { readonly kind: 'admitted'; readonly object: KubeObject; readonly findings: readonly Finding[] }
  | { readonly kind: 'refused'; readonly findings: readonly Finding[] };

/**
 * What the cluster stores of an object, or why it does not: our kinds are decoded with their defaults; of Kubernetes' own kinds only
 * what the cluster acts on is looked at; all other kinds are carried as they are.
 *
 * @param current the stored object that `object` is to replace.
 * @param file how findings name the place.
 */
export function admit(object: KubeObject, current: KubeObject | undefined, file?: string): Admitted {
  if (apiKindOf(object) !== undefined) {
    const decoded = decodeObject(object, file);
    return decoded.kind === 'valid'
      ? { kind: 'admitted', object: decoded.value, findings: [...decoded.findings, ...notRun(object, file)] }
      : { kind: 'refused', findings: decoded.findings };
  }
  const problem = problemOf(object, current);
  if (problem !== undefined) {
    const place = { ...(file === undefined ? {} : { file }), object: describeObject(object) };
    return { kind: 'refused', findings: [{ severity: 'error', ...place, ...problem }] };
  }
  return { kind: 'admitted', object: isGivenPod(object) ? asGivenPod(object as Pod) : object, findings: notRun(object, file) };
}

/** As `admit`, for a write over the API: the refusal is one sentence. */
export function admitWrite(object: KubeObject): { readonly object: KubeObject } | { readonly refusal: string } {
  const admitted = admit(object, undefined);
  if (admitted.kind === 'admitted') return admitted;
  return { refusal: admitted.findings.map(findingLine).join('; ') };
}

/** Kinds, as `group/Kind`, whose controllers make pods in a cluster and that are not expanded here. */
const NOT_RUN: ReadonlySet<string> = new Set(['apps/DaemonSet', 'apps/ReplicaSet', 'batch/CronJob', 'batch/Job']);

function notRun(object: KubeObject, file: string | undefined): readonly Finding[] {
  if (!NOT_RUN.has(kindKeyOf(refOf(object)))) return [];
  return [
    {
      code: 'workload/not-run',
      severity: 'warning',
      ...(file === undefined ? {} : { file }),
      object: describeObject(object),
      message: `no pods are made of a ${object.kind} here`,
      remedy: 'use a Deployment, StatefulSet, LeaderWorkerSet or ModelServing, or give its pods with status.podIP',
    },
  ];
}

interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: unknown;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
      readonly spec?: { readonly containers?: unknown };
    };
    readonly containers?: unknown;
  };
}

function problemOf(
  object: Workload,
  current: Workload | undefined,
): Pick<Finding, 'code' | 'field' | 'message' | 'remedy'> | undefined {
  const { spec } = object;
  if (object.apiVersion === 'v1' && object.kind === 'Pod') {
    return hasContainers(spec?.containers) ? undefined : noContainers('spec.containers');
  }
  if (isLeaderWorkerKind(object)) return leaderWorkerProblem(object);
  if (!object.apiVersion.startsWith('apps/') || (object.kind !== 'Deployment' && object.kind !== 'StatefulSet')) return undefined;
  if (!hasContainers(spec?.template?.spec?.containers)) return noContainers('spec.template.spec.containers');
  const labels = Object.entries(spec?.template?.metadata?.labels ?? {});
  const wrong = labels.find(([, value]) => typeof value !== 'string');
  if (wrong !== undefined) {
    return {
      code: 'workload/label',
      field: `spec.template.metadata.labels.${wrong[0]}`,
      message: `${JSON.stringify(wrong[1])} is no string`,
      remedy: 'put it in quotes',
    };
  }
  const replicas = spec?.replicas ?? 1;
  if (!Number.isSafeInteger(replicas) || (replicas as number) < 0) {
    const message = `${JSON.stringify(replicas)} is no count`;
    return { code: 'workload/replicas', field: 'spec.replicas', message, remedy: 'use a whole number from 0' };
  }
  const field = 'spec.selector';
  if (spec?.selector === undefined) {
    return { code: 'workload/selector', field, message: 'is missing', remedy: "select the template's labels" };
  }
  if (!selects(spec.selector, spec.template?.metadata?.labels)) {
    return {
      code: 'workload/selector',
      field,
      message: "does not match the labels of the object's own pod template",
      remedy: 'give both the same labels',
    };
  }
  if (current !== undefined && !isDeepStrictEqual(spec.selector, current.spec?.selector)) {
    const message = 'was changed, and a selector cannot change';
    return { code: 'workload/selector', field, message, remedy: 'delete the object and create it anew' };
  }
  return undefined;
}

function hasContainers(containers: unknown): boolean {
  return Array.isArray(containers) && containers.length > 0;
}

function noContainers(field: string): Pick<Finding, 'code' | 'field' | 'message' | 'remedy'> {
  return { code: 'workload/containers', field, message: 'names no container', remedy: 'add at least one' };
}
