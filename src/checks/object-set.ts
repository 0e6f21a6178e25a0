import { type ApiKind, type ApiObject, type ApiObjects, apiKindOf } from '../api/kinds';
import { describeObject, type KubeObject } from '../api/meta';
import type { Problem } from '../api/problem';
import type { Finding } from '../errors';

/** Objects that are checked together, such as all manifests of a folder, with the file of each where there is one. */
export interface CheckedObject {
  /** Decoded, when it is of one of our kinds. */
  readonly object: KubeObject;
  readonly file?: string;
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

/** Looks objects up by kind, namespace and name, and places findings. */
export class ObjectSet {
  readonly objects: readonly KubeObject[];
  /** Objects of a kind, namespace and name that an earlier one has, with that one. */
  readonly duplicates: readonly { readonly object: KubeObject; readonly first: KubeObject }[];
  private readonly files = new Map<KubeObject, string>();
  private readonly byKey = new Map<string, KubeObject>();
  private readonly byKind = new Map<ApiKind, ApiObject[]>();
  private children: ReadonlySet<string> | undefined;

  constructor(checked: readonly CheckedObject[]) {
    this.objects = checked.map(({ object }) => object);
    const duplicates: { readonly object: KubeObject; readonly first: KubeObject }[] = [];
    this.duplicates = duplicates;
    for (const { object, file } of checked) {
      if (file !== undefined) this.files.set(object, file);
      const key = ObjectSet.key(object.apiVersion, object.kind, namespaceOf(object), object.metadata.name);
      const first = this.byKey.get(key);
      if (first === undefined) this.byKey.set(key, object);
      else if (first !== object) duplicates.push({ object, first });
      const kind = apiKindOf(object);
      if (kind === undefined) continue;
      const sameKind = this.byKind.get(kind) ?? [];
      this.byKind.set(kind, sameKind);
      sameKind.push(object as ApiObject);
    }
  }

  /** Names an object whatever the version it is written in. */
  static key(apiVersion: string, kind: string, namespace: string, name: string): string {
    const slash = apiVersion.indexOf('/');
    return `${slash === -1 ? '' : apiVersion.slice(0, slash)}/${kind}/${namespace}/${name}`;
  }

  find(apiVersion: string, kind: string, namespace: string, name: string): KubeObject | undefined {
    return this.byKey.get(ObjectSet.key(apiVersion, kind, namespace, name));
  }

  ofKind<K extends ApiKind>(kind: K): readonly ApiObjects[K][] {
    return (this.byKind.get(kind) ?? []) as unknown as readonly ApiObjects[K][];
  }

  /** `namespace/name` of each ModelServing and ModelServer that Kthena makes of the boosters given. */
  get boosterChildren(): ReadonlySet<string> {
    this.children ??= new Set(
      this.ofKind('ModelBooster').map((booster) => {
        const { metadata, spec } = booster;
        return `${namespaceOf(booster)}/${spec.backend.name === '' ? metadata.name : `${metadata.name}-${spec.backend.name}`}`;
      }),
    );
    return this.children;
  }

  fileOf(object: KubeObject): string | undefined {
    return this.files.get(object);
  }

  finding(object: KubeObject, problem: Problem): Finding {
    const file = this.files.get(object);
    return { ...(file === undefined ? {} : { file }), object: describeObject(object), ...problem };
  }
}
