import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';

/** The annotation by which Argo CD orders objects; Flux ignores it. */
export const SYNC_WAVE = 'argocd.argoproj.io/sync-wave';

/**
 * Kinds that others need before they can exist or start. Everything else shares wave 0: a wave waits until its pods are ready, and
 * loading a model takes minutes, so a policy or route in a later wave would wait for GPUs that it may be there to bring. A claim and the
 * pod that is its first consumer would deadlock in different waves.
 */
const EARLY: Readonly<Record<string, number>> = {
  Namespace: -2,
  CustomResourceDefinition: -2,
  ServiceAccount: -2,
  ClusterRole: -2,
  ClusterRoleBinding: -2,
  Role: -2,
  RoleBinding: -2,
  PriorityClass: -2,
  ConfigMap: -1,
  Secret: -1,
};

/** Wave of each object: its kind's, raised above what `node.addDependency` says it needs; 0 is left out. */
export function syncWaves(objects: readonly ApiObject[], constructs: readonly IConstruct[]): ReadonlyMap<ApiObject, number> {
  const waves = new Map<ApiObject, number>();
  for (const object of objects) {
    const wave = EARLY[object.kind];
    if (wave !== undefined) waves.set(object, wave);
  }
  const edges: Edge[] = [];
  for (const source of constructs) {
    for (const target of source.node.dependencies) edges.push([objectsUnder(source), objectsUnder(target)]);
  }
  // Each pass settles at least one object, so more passes than objects means a cycle.
  for (let pass = 0; raise(waves, edges); pass += 1) {
    if (pass > objects.length)
      throw new RangeError('dependencies between constructs form a cycle; remove one node.addDependency');
  }
  return new Map([...waves].filter(([, wave]) => wave !== 0));
}

/** The wave that `object` carries; undefined when it carries none, which is wave 0. */
export function waveOf({ metadata }: KubeObject): number | undefined {
  const wave = metadata.annotations?.[SYNC_WAVE];
  return wave === undefined ? undefined : Number(wave);
}

/** Objects that come after others. */
type Edge = readonly [sources: readonly ApiObject[], targets: readonly ApiObject[]];

function raise(waves: Map<ApiObject, number>, edges: readonly Edge[]): boolean {
  let isRaised = false;
  const waveFor = (object: ApiObject): number => waves.get(object) ?? 0;
  for (const [sources, targets] of edges) {
    for (const target of targets) {
      for (const source of sources) {
        if (source === target || waveFor(source) > waveFor(target)) continue;
        waves.set(source, waveFor(target) + 1);
        isRaised = true;
      }
    }
  }
  return isRaised;
}

function objectsUnder(construct: IConstruct): readonly ApiObject[] {
  return construct.node.findAll().filter((child): child is ApiObject => ApiObject.isApiObject(child));
}
