import type { Difference } from './schema-differences';

/** A difference between Kthena's CRDs and ours that is meant. */
export interface IntendedDifference extends Difference {
  readonly kind: string;
  readonly reason: string;
}

const SPEC_REQUIRED = "an object without spec is refused by Kthena's webhook; the schema says it one step earlier";
const POD_TYPES = "Kubernetes' own pod types are carried unread, so that fields of newer releases pass";

const specRequired = (kind: string): IntendedDifference => ({
  kind,
  path: '',
  facet: 'required',
  theirs: [],
  ours: ['spec'],
  reason: SPEC_REQUIRED,
});
const opaque = (kind: string, path: string): IntendedDifference => ({
  kind,
  path,
  facet: 'opaque',
  theirs: 'fields',
  ours: 'any',
  reason: POD_TYPES,
});

export const intendedDifferences: readonly IntendedDifference[] = [
  specRequired('ModelServer'),
  specRequired('ExternalModelProvider'),
  specRequired('AutoscalingPolicy'),
  specRequired('ModelBooster'),
  specRequired('ModelServing'),
  {
    kind: 'AutoscalingPolicy',
    path: '.status.homogeneousStatus.learnedCapacity',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'what engine metrics taught of a replica survives a restart of the autoscaler',
  },
  {
    kind: 'AutoscalingPolicy',
    path: '.status.heterogeneousStatus[].learnedCapacity',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'what engine metrics taught of a replica survives a restart of the autoscaler',
  },
  {
    kind: 'AutoscalingPolicy',
    path: '.status.disaggregatedStatus.roles[].learnedCapacity',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'what engine metrics taught of a replica survives a restart of the autoscaler',
  },
  {
    kind: 'AutoscalingPolicy',
    path: '.spec.schedules',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'replicas for times of the week are an extension of the kind',
  },
  {
    kind: 'AutoscalingPolicy',
    path: '.spec.slo',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'latency as a goal of scaling is an extension of the kind',
  },
  {
    kind: 'AutoscalingPolicy',
    path: '.spec.disaggregatedTarget.per',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'bounds of roles are totals, and those of each serving group when it is said',
  },
  {
    kind: 'AutoscalingPolicyBinding',
    path: '.spec.disaggregatedTarget.per',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'bounds of roles are totals, and those of each serving group when it is said',
  },
  {
    kind: 'ModelRoute',
    path: '.spec.sessionAffinity',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'sticky sessions are an extension of the kind, and an annotation where Kthena owns the definition',
  },
  {
    kind: 'ModelRoute',
    path: '.spec.rules[].shadow',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'shadow traffic is an extension of the kind, and an annotation where Kthena owns the definition',
  },
  {
    kind: 'ModelRoute',
    path: '.spec.rateLimit.requestsPerUnit',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'limits of requests are an extension of the kind, and an annotation where Kthena owns the definition',
  },
  {
    kind: 'ModelRoute',
    path: '.spec.tenantIsolation',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'caches of tenants kept apart are an extension of the kind, and an annotation where Kthena owns the definition',
  },
  opaque('ModelBooster', '.spec.backend.env[]'),
  opaque('ModelBooster', '.spec.backend.envFrom[]'),
  opaque('ModelBooster', '.spec.backend.workers[].affinity'),
  opaque('ModelBooster', '.spec.backend.workers[].tolerations[]'),
  opaque('ModelServing', '.spec.template.roles[].entryTemplate.spec'),
  opaque('ModelServing', '.spec.template.roles[].workerTemplate.spec'),
];
