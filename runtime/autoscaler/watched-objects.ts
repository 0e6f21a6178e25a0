import type { WatchedObjects } from '../cluster/kubernetes';

/** What the autoscaler needs of a Kubernetes API. */
export const WATCHED_OBJECTS: WatchedObjects = {
  kinds: [
    'AutoscalingPolicy',
    'AutoscalingPolicyBinding',
    'ModelServing',
    'Pod',
    'HorizontalPodAutoscaler',
    'ModelServer',
    'ModelRoute',
    'ResourceQuota',
  ],
  workloads: true,
  wakeRequests: true,
  secrets: { names: [], labels: [], ofProviders: false },
};
