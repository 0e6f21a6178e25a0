import type { KubeObject, OwnerReference } from '../../../src/api/meta';
import type { ReadOutcome } from '../outcome';
import type { WakeRequest, WakeRequests } from '../wake-requests';
import { wakeLeaseName } from '../wake-signal';
import type { ObjectStore } from './object-store';

const LEASES = { group: 'coordination.k8s.io', kind: 'Lease' } as const;

interface Lease extends KubeObject {
  readonly spec?: { readonly renewTime?: string };
}

/** The wake leases in the store, as the autoscaler reads them. */
export class WakeLeases implements WakeRequests {
  private readonly listeners = new Set<() => void>();
  private delivery: NodeJS.Immediate | undefined;
  private readonly unlisten: () => void;

  constructor(private readonly store: ObjectStore) {
    this.unlisten = store.listen((object, change) => {
      if (change === 'put' && isWakeLease(object)) this.note();
    });
  }

  list(): readonly WakeRequest[] {
    return [...this.store.list(LEASES)].flatMap((lease) => (isWakeLease(lease) ? (requestOf(lease) ?? []) : []));
  }

  async read(namespace: string, uid: string): Promise<ReadOutcome<number>> {
    const lease: Lease | undefined = this.store.get({ ...LEASES, namespace, name: wakeLeaseName(uid) });
    const renewedMs = lease && renewedMsOf(lease);
    return renewedMs === undefined ? { kind: 'gone' } : { kind: 'found', value: renewedMs };
  }

  changed(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  close(): void {
    this.unlisten();
    this.listeners.clear();
    if (this.delivery !== undefined) clearImmediate(this.delivery);
  }

  private note(): void {
    if (this.listeners.size === 0) return;
    this.delivery ??= setImmediate(() => {
      this.delivery = undefined;
      for (const listener of [...this.listeners]) listener();
    });
  }
}

function isWakeLease({ kind, metadata }: KubeObject): boolean {
  return kind === LEASES.kind && metadata.name.startsWith(wakeLeaseName(''));
}

function requestOf(lease: Lease): WakeRequest | undefined {
  const owner: OwnerReference | undefined = lease.metadata.ownerReferences?.[0];
  const renewedMs = renewedMsOf(lease);
  if (owner === undefined || renewedMs === undefined) return undefined;
  const { kind, name, uid } = owner;
  return { target: { kind, namespace: lease.metadata.namespace ?? 'default', name }, uid, renewedMs };
}

function renewedMsOf({ spec }: Lease): number | undefined {
  const renewedMs = Date.parse(spec?.renewTime ?? '');
  return Number.isNaN(renewedMs) ? undefined : renewedMs;
}
