import { type KubeObject, keyOf } from '../../../src/api/meta';
import { GROUP_OF_KIND } from '../kinds';
import { kindKeyOf, type ObjectSource, refOf } from '../object-source';
import type { Freshness, Kind, KindMap, ObjectQuery, Objects } from '../objects';

interface Subscription {
  readonly listener: (keys: ReadonlySet<string>) => void;
  pending: Set<string>;
}

/** The objects of a source as images read them. */
export class ObjectsView implements Objects {
  private readonly lists = new Map<Kind, readonly KubeObject[]>();
  /** By kind, name and value of a label. */
  private readonly labelled = new Map<Kind, Map<string, ReadonlyMap<string, readonly KubeObject[]>>>();
  private readonly subscriptions = new Map<string, Set<Subscription>>();
  private delivery: NodeJS.Immediate | undefined;
  private readonly unlisten: () => void;

  constructor(
    private readonly source: ObjectSource,
    private readonly freshnessOf: (kind: Kind) => Freshness,
  ) {
    this.unlisten = source.listen((object) => this.note(object));
  }

  list<K extends Kind>(kind: K, query: ObjectQuery = {}): readonly KindMap[K][] {
    const { namespace, labels } = query;
    const wanted = Object.entries(labels ?? {});
    const listed = this.fewest(kind, wanted);
    if (namespace === undefined && wanted.length === 0) return listed;
    return listed.filter(
      ({ metadata }) =>
        (namespace === undefined || metadata.namespace === namespace) &&
        wanted.every(([key, value]) => metadata.labels?.[key] === value),
    );
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined {
    return this.source.get({ group: GROUP_OF_KIND[kind], kind, namespace, name }) as KindMap[K] | undefined;
  }

  changed(kind: Kind, listener: (keys: ReadonlySet<string>) => void): () => void {
    const kindKey = kindKeyOf({ group: GROUP_OF_KIND[kind], kind });
    const subscriptions = this.subscriptions.get(kindKey) ?? new Set();
    this.subscriptions.set(kindKey, subscriptions);
    const subscription: Subscription = { listener, pending: new Set() };
    subscriptions.add(subscription);
    return () => {
      subscriptions.delete(subscription);
    };
  }

  freshness(kind: Kind): Freshness {
    return this.freshnessOf(kind);
  }

  close(): void {
    this.unlisten();
    this.subscriptions.clear();
    if (this.delivery !== undefined) clearImmediate(this.delivery);
  }

  private listAll<K extends Kind>(kind: K): readonly KindMap[K][] {
    let list = this.lists.get(kind);
    if (list === undefined) {
      list = Object.freeze([...this.source.list({ group: GROUP_OF_KIND[kind], kind })]);
      this.lists.set(kind, list);
    }
    return list as readonly KindMap[K][];
  }

  /** The objects of a kind, or those that have the label of all wanted ones that fewest have. */
  private fewest<K extends Kind>(kind: K, wanted: readonly (readonly [string, string])[]): readonly KindMap[K][] {
    let fewest = this.listAll(kind);
    for (const [name, value] of wanted) {
      const having = this.byLabel(kind, name).get(value) ?? [];
      if (having.length < fewest.length) fewest = having;
    }
    return fewest;
  }

  /** Objects of a kind by the value of a label. Hundreds of policies ask for their few pods among thousands. */
  private byLabel<K extends Kind>(kind: K, label: string): ReadonlyMap<string, readonly KindMap[K][]> {
    const ofKind = this.labelled.get(kind) ?? new Map<string, ReadonlyMap<string, readonly KubeObject[]>>();
    this.labelled.set(kind, ofKind);
    let values = ofKind.get(label);
    if (values === undefined) {
      const made = new Map<string, KubeObject[]>();
      for (const object of this.listAll(kind)) {
        const value = object.metadata.labels?.[label];
        if (value === undefined) continue;
        const having = made.get(value);
        if (having === undefined) made.set(value, [object]);
        else having.push(object);
      }
      values = made;
      ofKind.set(label, values);
    }
    return values as ReadonlyMap<string, readonly KindMap[K][]>;
  }

  private note(object: KubeObject): void {
    this.lists.delete(object.kind as Kind);
    this.labelled.delete(object.kind as Kind);
    const subscriptions = this.subscriptions.get(kindKeyOf(refOf(object)));
    if (subscriptions === undefined || subscriptions.size === 0) return;
    for (const { pending } of subscriptions) pending.add(keyOf(object));
    this.delivery ??= setImmediate(() => this.deliver());
  }

  private deliver(): void {
    this.delivery = undefined;
    for (const subscriptions of this.subscriptions.values()) {
      for (const subscription of [...subscriptions]) {
        const keys = subscription.pending;
        if (keys.size === 0 || !subscriptions.has(subscription)) continue;
        subscription.pending = new Set();
        subscription.listener(keys);
      }
    }
  }
}
