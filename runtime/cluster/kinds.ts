import { NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';
import type { Kind } from './objects';

/** API group of each kind that images list. */
export const GROUP_OF_KIND: Readonly<Record<Kind, string>> = {
  ModelRoute: NETWORKING_GROUP,
  ModelServer: NETWORKING_GROUP,
  ExternalModelProvider: NETWORKING_GROUP,
  AutoscalingPolicy: WORKLOAD_GROUP,
  AutoscalingPolicyBinding: WORKLOAD_GROUP,
  ModelBooster: WORKLOAD_GROUP,
  ModelServing: WORKLOAD_GROUP,
  Pod: '',
  Deployment: 'apps',
  HorizontalPodAutoscaler: 'autoscaling',
  ResourceQuota: '',
};

export const KINDS = Object.keys(GROUP_OF_KIND) as readonly Kind[];
