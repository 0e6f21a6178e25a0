import type { ObjectMeta } from '../../api/meta';
import type { ModelBooster } from '../../api/model-booster';
import { Labels, WORKLOAD_GROUP } from '../../labels';

/** Labels that Kthena's controller gives to everything that it makes of a booster. */
const MANAGED_BY = 'workload.serving.volcano.sh/managed-by';
const REVISION = 'workload.serving.volcano.sh/revision';

/** Name of a booster's ModelServing and ModelServer. */
export function childName({ metadata, spec: { backend } }: ModelBooster): string {
  return backend.name === '' ? metadata.name : `${metadata.name}-${backend.name}`;
}

/**
 * What tells a booster's pods from all others of the namespace. Kthena uses the booster's uid, which nobody knows before the object
 * exists and which changes when it is made anew.
 */
export function selectedLabel({ metadata }: ModelBooster): Readonly<Record<string, string>> {
  return { [Labels.model]: metadata.name };
}

export function childLabels(booster: ModelBooster, backendName: string, revision: string): Readonly<Record<string, string>> {
  return {
    [Labels.kthenaModelName]: booster.metadata.name,
    [Labels.kthenaBackendName]: backendName,
    [MANAGED_BY]: WORKLOAD_GROUP,
    [REVISION]: revision,
    ...selectedLabel(booster),
  };
}

export function childMeta(booster: ModelBooster, name: string, backendName: string, revision: string): ObjectMeta {
  const { namespace } = booster.metadata;
  return { name, ...(namespace === undefined ? {} : { namespace }), labels: childLabels(booster, backendName, revision) };
}
