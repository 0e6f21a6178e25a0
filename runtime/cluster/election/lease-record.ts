import type { KubeObject } from '../../../src/api/meta';
import { LEASES, microTime } from '../wake-lease';

/** What the Lease of an election says. */
export interface LeaseRecord {
  /** Who leads; undefined: nobody, the last one gave it back. */
  readonly holder: string | undefined;
  /** How long the holder leads after each renewal, by its own promise. */
  readonly durationMs: number;
  /** How many times the holder changed. */
  readonly transitions: number;
  /** Milliseconds since the epoch by the holder's clock, for people: nothing is decided by it. */
  readonly acquiredMs: number;
}

/** A record as it was read, and the version that a write must still find. */
export interface ReadLease extends LeaseRecord {
  readonly version: string;
}

interface LeaseObject extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

/** @param fallbackMs duration of a Lease that says none. */
export function readLeaseObject({ metadata, spec = {} }: LeaseObject, fallbackMs: number): ReadLease {
  const { holderIdentity = '', leaseDurationSeconds, leaseTransitions = 0, acquireTime = '' } = spec;
  return {
    holder: holderIdentity === '' ? undefined : holderIdentity,
    durationMs: leaseDurationSeconds === undefined ? fallbackMs : leaseDurationSeconds * 1000,
    transitions: leaseTransitions,
    acquiredMs: Date.parse(acquireTime) || 0,
    version: metadata.resourceVersion!,
  };
}

/** @param version absent for a Lease that is made. @param nowMs milliseconds since the epoch. */
export function leaseObject(
  place: { readonly namespace: string; readonly name: string },
  { holder, durationMs, transitions, acquiredMs }: LeaseRecord,
  version: string | undefined,
  nowMs: number,
): LeaseObject {
  return {
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: { ...place, ...(version === undefined ? {} : { resourceVersion: version }) },
    spec: {
      holderIdentity: holder ?? '',
      // Whole seconds, and never shorter than what the holder itself goes by.
      leaseDurationSeconds: Math.max(1, Math.ceil(durationMs / 1000)),
      leaseTransitions: transitions,
      acquireTime: microTime(acquiredMs),
      renewTime: microTime(nowMs),
    },
  };
}
