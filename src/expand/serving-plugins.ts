import type { ModelServing, ServingPlugin } from '../api/model-serving';
import type { Container, EnvVar, Pod } from '../api/pod';
import type { ServingPosition } from './workload-plan';

/** Configuration of Kthena's built-in plugin `demo-pod-tweaks`. */
interface PodTweaks {
  readonly runtimeClassName?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly env?: readonly EnvVar[];
}

/**
 * Applies the ModelServing's plugins to a pod that is about to be made. `lws-standard-labels` acts only on ModelServings that Kthena made
 * of a LeaderWorkerSet, so on none that a manifest names; a plugin that Kthena does not know makes it create no pods, and is ignored here.
 */
export function applyPlugins(serving: ModelServing, position: Pick<ServingPosition, 'role' | 'index'>, pod: Pod): Pod {
  return (serving.spec.plugins ?? []).reduce(
    (changed, plugin) =>
      plugin.name === 'demo-pod-tweaks' && applies(plugin, position) ? tweak(changed, plugin.config as PodTweaks) : changed,
    pod,
  );
}

/** Absent or empty scopes hold for all; an unknown target matches nothing. */
function applies({ scope }: ServingPlugin, { role, index }: Pick<ServingPosition, 'role' | 'index'>): boolean {
  const roles = scope?.roles ?? [];
  const target = scope?.target ?? '';
  const isTarget = target === '' || target === 'All' || target === (index === 0 ? 'Entry' : 'Worker');
  return isTarget && (roles.length === 0 || roles.includes(role));
}

function tweak(pod: Pod, config: PodTweaks | undefined): Pod {
  const added = config?.env ?? [];
  const withEnv = (container: Container): Container =>
    added.length === 0 ? container : { ...container, env: [...(container.env ?? []), ...added] };
  const runtimeClass = config?.runtimeClassName === undefined ? {} : { runtimeClassName: config.runtimeClassName };
  const { spec, metadata } = pod;
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...config?.annotations } },
    spec: {
      ...spec,
      ...runtimeClass,
      containers: spec.containers.map(withEnv),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withEnv) }),
    },
  };
}
