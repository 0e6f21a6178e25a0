import { type ApiKind, apiKinds, isApiKind } from '../../../src/api/kinds';
import { WORKLOAD_KINDS } from '../../../src/expand/expand-workload';
import { DISAGGREGATED_GROUP, LEADER_WORKER_GROUP } from '../../../src/expand/leader-worker-workload';
import type { WorkloadKind } from '../../../src/expand/workload-plan';
import { GROUP_OF_KIND } from '../kinds';
import type { Kind } from '../objects';
import { LEASES } from '../wake-lease';

/** Where the API keeps the objects of a kind. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

/** Version and plural of kinds of others. */
const FOREIGN: Readonly<
  Record<Exclude<Kind | WorkloadKind, ApiKind> | 'Secret' | 'Lease', readonly [apiVersion: string, plural: string]>
> = {
  Pod: ['v1', 'pods'],
  Secret: ['v1', 'secrets'],
  ResourceQuota: ['v1', 'resourcequotas'],
  Deployment: ['apps/v1', 'deployments'],
  StatefulSet: ['apps/v1', 'statefulsets'],
  HorizontalPodAutoscaler: [`${GROUP_OF_KIND.HorizontalPodAutoscaler}/v2`, 'horizontalpodautoscalers'],
  Lease: [`${LEASES.group}/v1`, 'leases'],
  LeaderWorkerSet: [`${LEADER_WORKER_GROUP}/v1`, 'leaderworkersets'],
  DisaggregatedSet: [`${DISAGGREGATED_GROUP}/v1`, 'disaggregatedsets'],
};

/** Kinds that can be watched. */
export type WatchedKind = ApiKind | keyof typeof FOREIGN;

/** The resource of a kind that can be watched. */
export function watchedResource(kind: WatchedKind): Resource {
  if (isApiKind(kind)) return { apiVersion: apiKinds[kind].apiVersion, kind, plural: apiKinds[kind].plural };
  const [apiVersion, plural] = FOREIGN[kind];
  return { apiVersion, kind, plural };
}

/** Kinds whose objects have pods. */
export const WORKLOAD_KIND_NAMES: readonly WorkloadKind[] = WORKLOAD_KINDS.map(({ kind }) => kind);

/** Path of one object, or of all of a namespace, or of all. */
export function resourcePath({ apiVersion, plural }: Resource, namespace?: string, ...rest: readonly string[]): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${[plural, ...rest.map(encodeURIComponent)].join('/')}`;
}
