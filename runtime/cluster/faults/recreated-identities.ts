import type { KubeObject } from '../../../src/api/meta';
import type { WriteOutcome } from '../outcome';

/** Names an object: the same name may be borne by one object after another. */
export interface BorneName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Shows objects under identities of a later life: after `recreate` the uid and versions of the object at a name carry a mark, and one
 * without it is known to be of an earlier life.
 */
export class RecreatedIdentities {
  private readonly lives = new Map<string, number>();

  recreate(name: BorneName): void {
    this.lives.set(keyOf(name), (this.lives.get(keyOf(name)) ?? 0) + 1);
  }

  /** How a uid or version of the object at `name` looks from outside. */
  shown(name: BorneName, identity: string): string {
    const life = this.lives.get(keyOf(name));
    return life === undefined ? identity : `${identity}~${life}`;
  }

  /** The identity behind a shown one; undefined when it is of an earlier life. */
  accept(name: BorneName, shown: string): string | undefined {
    const life = this.lives.get(keyOf(name));
    if (life === undefined) return shown;
    const mark = `~${life}`;
    return shown.endsWith(mark) ? shown.slice(0, -mark.length) : undefined;
  }

  shownObject<T extends KubeObject>(object: T): T {
    const name = nameOf(object);
    if (!this.lives.has(keyOf(name))) return object;
    const { uid = '', resourceVersion = '' } = object.metadata;
    const metadata = { ...object.metadata, uid: this.shown(name, uid), resourceVersion: this.shown(name, resourceVersion) };
    return Object.freeze({ ...object, metadata: Object.freeze(metadata) });
  }

  /** The object as the cluster knows it; undefined when it is of an earlier life. */
  unshownObject<T extends KubeObject>(object: T): T | undefined {
    const name = nameOf(object);
    const uid = this.accept(name, object.metadata.uid ?? '');
    if (uid === undefined) return undefined;
    const resourceVersion = this.accept(name, object.metadata.resourceVersion ?? '');
    return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
  }

  shownOutcome(name: BorneName, outcome: WriteOutcome): WriteOutcome {
    return 'version' in outcome ? { ...outcome, version: this.shown(name, outcome.version) } : outcome;
  }
}

function keyOf({ kind, namespace, name }: BorneName): string {
  return `${kind}/${namespace}/${name}`;
}

function nameOf(object: KubeObject): BorneName {
  return { kind: object.kind, namespace: object.metadata.namespace ?? 'default', name: object.metadata.name };
}
