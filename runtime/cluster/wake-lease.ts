import type { KubeObject, OwnerReference } from '../../src/api/meta';
import { Labels } from '../../src/labels';
import type { WakeRequest } from './wake-requests';
import { type Sleeper, WAKE_LEASE_SECONDS, wakeLeaseName } from './wake-signal';

/** The Lease by which routers say that requests wait for a target. */
export interface WakeLease extends KubeObject {
  readonly spec?: { readonly leaseDurationSeconds?: number; readonly renewTime?: string };
}

/** Selects wake leases among all others, of which a cluster has one for each node. */
export const wakeLeaseSelector = `${Labels.wakeLease}=true`;

export const LEASES = { group: 'coordination.k8s.io', apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

/** The wake lease of a target, renewed now. It goes when its target goes. */
export function wakeLease({ target, uid }: Sleeper, nowMs: number): WakeLease {
  return {
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: {
      name: wakeLeaseName(uid),
      namespace: target.namespace,
      labels: { [Labels.wakeLease]: 'true' },
      ownerReferences: [{ apiVersion: target.apiVersion, kind: target.kind, name: target.name, uid }],
    },
    spec: { leaseDurationSeconds: WAKE_LEASE_SECONDS, renewTime: microTime(nowMs) },
  };
}

/** RFC 3339 with microseconds, as Leases have their times. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/Z$/, '000Z');
}

export function isWakeLease({ kind, metadata }: KubeObject): boolean {
  return kind === LEASES.kind && metadata.name.startsWith(wakeLeaseName(''));
}

/** What a wake lease says; undefined for one that names no target or no time. */
export function wakeRequestOf(lease: WakeLease): WakeRequest | undefined {
  const owner: OwnerReference | undefined = lease.metadata.ownerReferences?.[0];
  const renewedMs = renewedMsOf(lease);
  if (owner === undefined || renewedMs === undefined) return undefined;
  const { kind, name, uid } = owner;
  return { target: { kind, namespace: lease.metadata.namespace ?? 'default', name }, uid, renewedMs };
}

/** When a router last renewed the lease, in milliseconds since the epoch. */
export function renewedMsOf({ spec }: WakeLease): number | undefined {
  const renewedMs = Date.parse(spec?.renewTime ?? '');
  return Number.isNaN(renewedMs) ? undefined : renewedMs;
}
