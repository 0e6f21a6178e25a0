import { checkChange } from '../../../src/api/check-change';
import { decodeObject } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import type { FieldChange } from './field-changes';

interface Rule {
  /** Fields that never change once they are set. */
  readonly immutable: readonly string[];
  /** Exceptions below them. */
  readonly mutable?: readonly string[];
}

/**
 * Fields that the API server (or the kind's own webhook) refuses to change, by group and kind. From the validation of Kubernetes 1.35 and
 * the CustomResourceDefinitions' own words.
 */
const RULES: Readonly<Record<string, Rule>> = {
  'apps/Deployment': { immutable: ['spec.selector'] },
  'apps/DaemonSet': { immutable: ['spec.selector'] },
  'apps/ReplicaSet': { immutable: ['spec.selector'] },
  'apps/StatefulSet': {
    immutable: ['spec'],
    mutable: [
      'spec.replicas',
      'spec.ordinals',
      'spec.template',
      'spec.updateStrategy',
      'spec.persistentVolumeClaimRetentionPolicy',
      'spec.minReadySeconds',
      'spec.revisionHistoryLimit',
    ],
  },
  'batch/Job': {
    immutable: ['spec.selector', 'spec.template', 'spec.completionMode', 'spec.completions', 'spec.podFailurePolicy'],
  },
  '/Service': { immutable: ['spec.clusterIP', 'spec.clusterIPs'] },
  '/PersistentVolumeClaim': { immutable: ['spec'], mutable: ['spec.resources.requests', 'spec.volumeAttributesClassName'] },
  '/Secret': { immutable: ['type'] },
  'storage.k8s.io/StorageClass': { immutable: ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'] },
  'scheduling.k8s.io/PriorityClass': { immutable: ['value', 'preemptionPolicy'] },
  'rbac.authorization.k8s.io/RoleBinding': { immutable: ['roleRef'] },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { immutable: ['roleRef'] },
  'leaderworkerset.x-k8s.io/LeaderWorkerSet': { immutable: ['spec.leaderWorkerTemplate.subGroupPolicy'] },
};

/** Fields of `changes` that cannot change in place, so that the object must be deleted and made anew. */
export function immutableChanges(before: KubeObject, after: KubeObject, changes: readonly FieldChange[]): readonly string[] {
  const group = before.apiVersion.includes('/') ? before.apiVersion.slice(0, before.apiVersion.indexOf('/')) : '';
  const rule = RULES[`${group}/${before.kind}`];
  const byRule = changes
    .map(({ field }) => field)
    .filter((field) => rule?.immutable.some((path) => isWithin(field, path)) === true)
    .filter((field) => rule?.mutable?.some((path) => isWithin(field, path)) !== true);
  return [...new Set([...byRule, ...sealedData(before, changes), ...ownRules(before, after)])];
}

/** A ConfigMap or Secret that calls itself immutable. */
function sealedData(before: KubeObject, changes: readonly FieldChange[]): readonly string[] {
  const { immutable } = before as KubeObject & { readonly immutable?: unknown };
  if (immutable !== true || !['ConfigMap', 'Secret'].includes(before.kind)) return [];
  return changes.map(({ field }) => field).filter((field) => /^(data|stringData|binaryData|immutable)\b/.test(field));
}

/** What the definitions of our kinds say. */
function ownRules(before: KubeObject, after: KubeObject): readonly string[] {
  const [old, now] = [decodeObject(before), decodeObject(after)];
  if (old.kind !== 'valid' || now.kind !== 'valid') return [];
  return checkChange(old.value, now.value).map(({ field }) => field ?? 'spec');
}

/** Whether `field` is `path` or lies below it. */
function isWithin(field: string, path: string): boolean {
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}
