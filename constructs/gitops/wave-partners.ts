import { Annotations } from '../../src/labels';
import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';
import { waveOf } from './sync-wave';

/** Something that pods need and that itself becomes ready only with them, so that all must be in one wave. */
interface Partnership {
  /** A PersistentVolumeClaim or a PodGroup. */
  readonly needed: RenderedObject;
  /** Objects whose pods name it; never empty. */
  readonly users: readonly RenderedObject[];
}

/**
 * Moves each claim and PodGroup into the first wave of the pods that use it: a claim that waits for its first consumer, and a PodGroup
 * that waits for its pods, would hold up an earlier wave for ever, and a later one the pods.
 *
 * @param waves changed in place.
 */
export function shareWaves(rendered: readonly RenderedObject[], waves: Map<RenderedObject, number>): void {
  for (const { needed, users } of partnerships(rendered)) {
    waves.set(needed, Math.min(...users.map((user) => waves.get(user) ?? 0)));
  }
}

/** Claims and PodGroups that an annotation of their own, or of their users, puts into another wave than their first user. */
export function waveDeadlocks(rendered: readonly RenderedObject[]): readonly FoundAt[] {
  const waveFor = ({ object }: RenderedObject): number => waveOf(object) ?? 0;
  return partnerships(rendered).flatMap(({ needed, users }): FoundAt[] => {
    const wave = waveFor(needed);
    const [first] = [...users].sort((a, b) => waveFor(a) - waveFor(b));
    const firstWave = waveFor(first!);
    if (wave === firstWave) return [];
    return [
      {
        construct: needed.source,
        finding: {
          code: 'sync-wave/deadlock',
          severity: 'error',
          object: needed.place,
          field: 'metadata.annotations',
          message: `is in sync wave ${wave}, and ${first!.place}, whose pods it waits for, in wave ${firstWave}`,
          remedy: 'remove the sync-wave annotation of the one that has it',
        },
      },
    ];
  });
}

function partnerships(rendered: readonly RenderedObject[]): readonly Partnership[] {
  const needed = new Map<string, RenderedObject>();
  for (const entry of rendered) {
    const { apiVersion, kind, metadata } = entry.object;
    if (kind === 'PersistentVolumeClaim' && apiVersion === 'v1') needed.set(claimKey(metadata.namespace, metadata.name), entry);
    if (kind === 'PodGroup') needed.set(groupKey(metadata.namespace, metadata.name), entry);
  }
  if (needed.size === 0) return [];
  const users = new Map<RenderedObject, RenderedObject[]>();
  for (const entry of rendered) {
    const keys = new Set<string>();
    collectKeys(entry.object, entry.object.metadata.namespace, keys);
    for (const key of keys) {
      const partner = needed.get(key);
      if (partner !== undefined && partner !== entry) users.set(partner, [...(users.get(partner) ?? []), entry]);
    }
  }
  return [...users].map(([entry, its]) => ({ needed: entry, users: its }));
}

/** Keys of all claims and PodGroups that pods anywhere in `value` name. */
function collectKeys(value: unknown, namespace: string | undefined, keys: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const element of value) collectKeys(element, namespace, keys);
    return;
  }
  for (const [key, child] of Object.entries(value as Readonly<Record<string, unknown>>)) {
    if (key === 'openAPIV3Schema') continue;
    if (typeof child === 'object') {
      const { claimName } = (child ?? {}) as { readonly claimName?: unknown };
      if (key === 'persistentVolumeClaim' && typeof claimName === 'string') keys.add(claimKey(namespace, claimName));
      collectKeys(child, namespace, keys);
    } else if (typeof child === 'string' && GROUP_NAMES.has(key)) keys.add(groupKey(namespace, child));
  }
}

/** Volcano's annotation and coscheduling's label of pods that belong to a PodGroup. */
const GROUP_NAMES: ReadonlySet<string> = new Set([Annotations.schedulingGroup, 'scheduling.x-k8s.io/pod-group']);

const claimKey = (namespace: string | undefined, name: string): string => `claim ${namespace ?? 'default'}/${name}`;
const groupKey = (namespace: string | undefined, name: string): string => `group ${namespace ?? 'default'}/${name}`;
