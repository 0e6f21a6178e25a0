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
    path: '.spec.slo',
    facet: 'field',
    theirs: 'absent',
    ours: 'present',
    reason: 'latency as a goal of scaling is an extension of the kind',
  },
  opaque('ModelBooster', '.spec.backend.env[]'),
  opaque('ModelBooster', '.spec.backend.envFrom[]'),
  opaque('ModelBooster', '.spec.backend.workers[].affinity'),
  opaque('ModelBooster', '.spec.backend.workers[].tolerations[]'),
  opaque('ModelServing', '.spec.template.roles[].entryTemplate.spec'),
  opaque('ModelServing', '.spec.template.roles[].workerTemplate.spec'),
];
