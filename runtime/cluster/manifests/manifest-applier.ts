import { isDeepStrictEqual } from 'node:util';
import { CLUSTER_SCOPED_KINDS } from '../../../src/api/cluster-scoped-kinds';
import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { CheckedObject } from '../../../src/checks/object-set';
import { checkReferences } from '../../../src/checks/references';
import type { Finding } from '../../../src/errors';
import type { ManifestObject } from '../../../src/read-manifests';
import { type ObjectRef, refKeyOf, refOf } from '../object-source';
import { admit } from './admission';
import { BoosterChildren } from './booster-children';
import type { FilePods } from './file-pods';
import type { ObjectStore } from './object-store';
import { isGivenPod } from './pod-status';

interface Applied {
  readonly manifest: ManifestObject;
  readonly ref: ObjectRef;
  readonly findings: readonly Finding[];
  /** Not yet written. */
  readonly isPending: boolean;
  /** Its last good version. */
  readonly object?: KubeObject;
}

/**
 * Brings the store to what the manifests say, as `kubectl apply --prune` would: only objects whose own manifest changed are written, so
 * a scale that was set meanwhile stays until its manifest changes, and stays even then when that names no replicas.
 */
export class ManifestApplier {
  private applied = new Map<string, Applied>();
  private readonly boosters = new BoosterChildren();

  constructor(
    private readonly store: ObjectStore,
    private readonly defaultNamespace: string,
    private readonly pods: FilePods,
  ) {}

  /** @returns what is wrong with the objects and between them. A refused object keeps its last good version. */
  apply(manifests: readonly ManifestObject[]): readonly Finding[] {
    const next = new Map<string, Applied>();
    const shadowed: ManifestObject[] = [];
    const given = this.boosters.addTo(manifests.map((each) => ({ ...each, object: this.inNamespace(each.object) })));
    for (const manifest of given.manifests) {
      const ref = refOf(manifest.object);
      const key = refKeyOf(ref);
      // Of an object that is given twice the last one counts, as with kubectl.
      const earlier = next.get(key);
      if (earlier !== undefined) shadowed.push(earlier.manifest);
      const before = this.applied.get(key);
      const isSame = before !== undefined && isDeepStrictEqual(before.manifest.object, manifest.object);
      next.set(key, isSame ? { ...before, manifest } : { manifest, ref, findings: [], isPending: true });
    }
    for (const [key, before] of this.applied) {
      if (!next.has(key)) this.remove(before.ref);
    }
    for (const [key, entry] of next) {
      if (entry.isPending) next.set(key, this.write(entry, this.applied.get(key)?.object));
    }
    this.applied = next;
    return [...[...next.values()].flatMap(({ findings }) => findings), ...given.findings, ...this.checked(shadowed)];
  }

  private write({ manifest, ref }: Applied, lastGood: KubeObject | undefined): Applied {
    const current = this.store.get(ref);
    const admitted = admit(wanted(manifest.object, current), current, placeOf(manifest));
    const { findings } = admitted;
    if (admitted.kind === 'refused') return { manifest, ref, findings, isPending: false, object: lastGood };
    const { object } = admitted;
    const { creationTimestamp } = manifest.object.metadata;
    // A dump of a running cluster says how old its objects are; `creationTimestamp: null` is what generators write.
    const born = typeof creationTimestamp === 'string' ? { creationTimestamp } : {};
    if (isPod(ref)) this.pods.want(object as Pod);
    else if (current === undefined) this.store.create(object, born);
    else this.store.update(current, object);
    return { manifest, ref, findings, isPending: false, object };
  }

  private checked(shadowed: readonly ManifestObject[]): readonly Finding[] {
    const objects: CheckedObject[] = [];
    for (const manifest of shadowed) {
      const admitted = admit(manifest.object, undefined);
      if (admitted.kind === 'admitted') objects.push({ object: admitted.object, file: placeOf(manifest) });
    }
    for (const { manifest, object } of this.applied.values()) {
      if (object !== undefined) objects.push({ object, file: placeOf(manifest) });
    }
    return checkReferences(objects);
  }

  private remove(ref: ObjectRef): void {
    const object = this.store.get(ref);
    if (isPod(ref)) this.pods.forget(ref);
    else if (object !== undefined) this.store.remove(object);
  }

  private inNamespace(object: KubeObject): KubeObject {
    if (CLUSTER_SCOPED_KINDS.has(object.kind) || typeof object.metadata.namespace === 'string') return object;
    return { ...object, metadata: { ...object.metadata, namespace: this.defaultNamespace } };
  }
}

function placeOf({ file, line }: ManifestObject): string {
  return `${file}:${line}`;
}

function isPod({ group, kind }: ObjectRef): boolean {
  return group === '' && kind === 'Pod';
}

interface Spec {
  readonly replicas?: number;
  readonly template?: { readonly roles?: readonly Role[] };
}

interface Role {
  readonly name?: string;
  readonly replicas?: number;
}

type Scaled = KubeObject & { readonly spec?: Spec; readonly status?: unknown };

/** The manifest's object with what only the cluster knows: its status and, where the manifest names none, its replicas. */
function wanted(manifest: Scaled, current: Scaled | undefined): KubeObject {
  const { status: _written, ...object } = manifest;
  if (isPod(refOf(manifest))) return isGivenPod(manifest) ? manifest : object;
  return {
    ...object,
    ...(isMapping(object.spec) && isMapping(current?.spec) ? { spec: withReplicasOf(object.spec, current.spec) } : {}),
    ...(current?.status === undefined ? {} : { status: current.status }),
  } as KubeObject;
}

function withReplicasOf(spec: Spec, current: Spec): Spec {
  const roles = spec.template?.roles;
  const currentRoles = current.template?.roles;
  return {
    ...spec,
    ...(spec.replicas === undefined && current.replicas !== undefined ? { replicas: current.replicas } : {}),
    ...(Array.isArray(roles) && Array.isArray(currentRoles)
      ? { template: { ...spec.template, roles: roles.map((role: Role) => withRoleReplicasOf(role, currentRoles)) } }
      : {}),
  };
}

function withRoleReplicasOf(role: Role, current: readonly Role[]): Role {
  if (!isMapping(role) || role.replicas !== undefined) return role;
  const replicas = current.find(({ name }) => name === role.name)?.replicas;
  return replicas === undefined ? role : { ...role, replicas };
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
