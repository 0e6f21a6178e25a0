import { Yaml } from 'cdk8s';
import { type AnyObject, SynthesizedObjects } from './synth';

/**
 * jest snapshot serializer for what `synth` returns: `expect.addSnapshotSerializer(snapshotSerializer)`. Writes every object with every
 * field as YAML, objects by kind, namespace and name, and keys by the alphabet, so that a snapshot changes only when an object does.
 * Nothing is hidden: what is in the snapshot is what a cluster gets.
 */
export const snapshotSerializer = {
  test(value: unknown): boolean {
    return value instanceof SynthesizedObjects;
  },
  serialize(value: unknown): string {
    const objects = [...(value as SynthesizedObjects).all].sort((a, b) => compare(placeOf(a), placeOf(b)));
    return objects.map((object) => Yaml.stringify(ordered(object))).join('---\n');
  },
};

function placeOf({ apiVersion, kind, metadata }: AnyObject): string {
  return [kind, metadata.namespace ?? '', metadata.name, apiVersion].join('\u0000');
}

/** Keys by the alphabet; lists keep their order, which has a meaning. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => compare(a, b))
      .map(([key, child]) => [key, ordered(child)]),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
