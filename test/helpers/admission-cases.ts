import type { KubeObject } from '../../src/api/meta';
import {
  autoscalingPolicy,
  autoscalingPolicyBinding,
  disaggregatedPolicy,
  externalModelProvider,
  modelRoute,
  modelServer,
  withField,
  withFields,
} from './api-objects';

/** An object, and whether it keeps the rules. Each that does not breaks one. */
export interface AdmissionCase {
  readonly name: string;
  readonly object: KubeObject;
}

const named = (name: string, object: KubeObject): AdmissionCase => ({ name, object });
const rules = (...targetModels: object[]) => [{ targetModels }];
const pdGroup = { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
const disaggregated = withField(modelServer, 'spec.workloadSelector.pdGroup', pdGroup);
const heterogeneous = withFields(autoscalingPolicy, {
  'spec.homogeneousTarget': undefined,
  'spec.heterogeneousTarget': { params: [{ target: { targetRef: { name: 'a' } }, minReplicas: 1, maxReplicas: 2 }] },
});
const heteroParam = 'spec.heterogeneousTarget.params[0]';

/** What each admission policy is tried with, on a real API server and in TypeScript. */
export const ADMISSION_CASES: readonly AdmissionCase[] = [
  named('a route', modelRoute),
  named('a route for adapters', withField(modelRoute, 'spec.loraAdapters', ['sql'])),
  named(
    'a route whose second target has all of the weight',
    withField(modelRoute, 'spec.rules', rules({ modelServerName: 'a', weight: 0 }, { modelServerName: 'b', weight: 1 })),
  ),
  named('a route with an empty adapter name', withField(modelRoute, 'spec.loraAdapters', ['sql', ''])),
  named('a route without weight', withField(modelRoute, 'spec.rules', rules({ modelServerName: 'a', weight: 0 }))),
  named(
    'a route that sends adapters to a provider',
    withFields(modelRoute, {
      'spec.loraAdapters': ['sql'],
      'spec.rules': [
        ...rules({ modelServerName: 'a' }),
        ...rules({ modelServerName: 'b' }, { externalModelProviderName: 'cloud' }),
      ],
    }),
  ),
  named(
    'a route of another class',
    withFields(modelRoute, { 'metadata.labels': { 'kvasir.dev/class': 'other' }, 'spec.loraAdapters': [''] }),
  ),
  named(
    'a route of our class',
    withFields(modelRoute, { 'metadata.labels': { 'kvasir.dev/class': 'kvasir' }, 'spec.loraAdapters': [''] }),
  ),

  named('a server', modelServer),
  named('a disaggregated server', disaggregated),
  named(
    'a server with a label key of a domain',
    withField(modelServer, 'spec.workloadSelector.matchLabels', { 'example.com/app': '' }),
  ),
  named('a server without labels', withField(modelServer, 'spec.workloadSelector.matchLabels', {})),
  named('a server with a bad label key', withField(modelServer, 'spec.workloadSelector.matchLabels', { app: 'a', 'a b': 'c' })),
  named(
    'a server with a label key of 64 letters',
    withField(modelServer, 'spec.workloadSelector.matchLabels', { ['x'.repeat(64)]: 'c' }),
  ),
  named('a server with a bad label value', withField(modelServer, 'spec.workloadSelector.matchLabels', { app: 'a', b: '-c' })),
  named('a server without prefill labels', withField(disaggregated, 'spec.workloadSelector.pdGroup.prefillLabels', {})),
  named('a server without decode labels', withField(disaggregated, 'spec.workloadSelector.pdGroup.decodeLabels', {})),
  named('a server without group key', withField(disaggregated, 'spec.workloadSelector.pdGroup.groupKey', '')),
  named('a server with a bad group key', withField(disaggregated, 'spec.workloadSelector.pdGroup.groupKey', 'a/b/c')),
  named(
    'a server with a bad decode label',
    withField(disaggregated, 'spec.workloadSelector.pdGroup.decodeLabels', { role: 'a b' }),
  ),

  named('a provider', externalModelProvider),
  named(
    'a provider with headers and a port',
    withFields(externalModelProvider, { 'spec.headers': { 'X-Team': 'a' }, 'spec.baseURL': 'https://api.example.com:8443/v1' }),
  ),
  named('a provider without a host', withField(externalModelProvider, 'spec.baseURL', 'https://:443')),
  named('a provider with a user in its address', withField(externalModelProvider, 'spec.baseURL', 'https://me@api.example.com')),
  named(
    'a provider with a query in its address',
    withField(externalModelProvider, 'spec.baseURL', 'https://api.example.com/?a=b'),
  ),
  named(
    'a provider with a fragment in its address',
    withField(externalModelProvider, 'spec.baseURL', 'https://api.example.com/#a'),
  ),
  named('a provider with an impossible header', withField(externalModelProvider, 'spec.headers', { 'X-Team': 'a', 'a b': 'c' })),
  named(
    'a provider with a reserved header',
    withField(externalModelProvider, 'spec.headers', { 'X-Team': 'a', Authorization: 'x' }),
  ),
  named('a provider with a header of two lines', withField(externalModelProvider, 'spec.headers', { 'X-Team': 'a\nb' })),
  named('a provider whose Secret has no name', withField(externalModelProvider, 'spec.auth.secretRef.name', '')),
  named('a provider whose Secret has no key', withField(externalModelProvider, 'spec.auth.secretRef.key', '')),

  named('a policy', autoscalingPolicy),
  named('a policy of several workloads', heterogeneous),
  named('a policy of two roles', disaggregatedPolicy),
  named('a policy for a binding', withFields(autoscalingPolicy, { 'spec.homogeneousTarget': undefined })),
  named(
    'a policy with quantities',
    withField(autoscalingPolicy, 'spec.metrics', [
      { name: 'kv', targetValue: '800m' },
      { name: 'running', targetValue: 8 },
    ]),
  ),
  named(
    'a policy with two targets',
    withField(heterogeneous, 'spec.homogeneousTarget', autoscalingPolicy.spec.homogeneousTarget),
  ),
  named('a policy without metrics', withField(autoscalingPolicy, 'spec.metrics', [])),
  named(
    'a policy that aims at nothing',
    withField(autoscalingPolicy, 'spec.metrics', [
      { name: 'a', targetValue: 1 },
      { name: 'b', targetValue: 0 },
    ]),
  ),
  named(
    'a policy that aims below nothing, as a quantity',
    withField(autoscalingPolicy, 'spec.metrics', [{ name: 'a', targetValue: '-500m' }]),
  ),
  named(
    'a policy with a metric twice',
    withField(autoscalingPolicy, 'spec.metrics', [
      { name: 'a', targetValue: 1 },
      { name: 'a', targetValue: 2 },
    ]),
  ),
  named('a policy with an empty objective', withField(autoscalingPolicy, 'spec.slo', {})),
  named('a policy of a Job', withField(autoscalingPolicy, 'spec.homogeneousTarget.target.targetRef', { kind: 'Job', name: 'a' })),
  named(
    'a policy of a nameless workload',
    withField(autoscalingPolicy, 'spec.homogeneousTarget.target.targetRef', { kind: 'Deployment' }),
  ),
  named(
    'a policy of several workloads, one a Job',
    withField(heterogeneous, `${heteroParam}.target.targetRef`, { kind: 'Job', name: 'a' }),
  ),
  named('a policy of several workloads, one nameless', withField(heterogeneous, `${heteroParam}.target.targetRef`, { name: '' })),
  named(
    'a policy of roles of a Job',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.targetRef', { kind: 'Job', name: 'a' }),
  ),
  named(
    'a policy whose ratio divides by no role',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.ratioConstraint.denominatorRole', 'encode'),
  ),
  named(
    'a policy of roles of a nameless workload',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.targetRef', { name: '' }),
  ),
  named('a policy with bounds in the wrong order', withField(autoscalingPolicy, 'spec.homogeneousTarget.minReplicas', 5)),
  named(
    'a policy of several workloads with bounds in the wrong order',
    withField(heterogeneous, `${heteroParam}.minReplicas`, 5),
  ),
  named(
    'a policy of roles with bounds in the wrong order',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.roles.decode.minReplicas', 5),
  ),
  named(
    'a policy whose ratio names no role',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.ratioConstraint.numeratorRole', 'encode'),
  ),
  named(
    'a policy of which one role may be zero',
    withField(disaggregatedPolicy, 'spec.disaggregatedTarget.roles.prefill.minReplicas', 0),
  ),
  ...(
    [
      ['scaleDown', 'period'],
      ['scaleDown', 'stabilizationWindow'],
      ['scaleUp.stablePolicy', 'period'],
      ['scaleUp.stablePolicy', 'stabilizationWindow'],
      ['scaleUp.panicPolicy', 'period'],
      ['scaleUp.panicPolicy', 'panicModeHold'],
    ] as const
  ).map(([part, field]) =>
    named(
      `a policy whose ${part}.${field} is too long`,
      // The period of a panic policy has no default.
      withField(
        withField(autoscalingPolicy, 'spec.behavior.scaleUp.panicPolicy.period', '1m'),
        `spec.behavior.${part}.${field}`,
        '31m',
      ),
    ),
  ),
  named(
    'a policy with the longest windows',
    withField(autoscalingPolicy, 'spec.behavior.scaleDown', { period: '30m', stabilizationWindow: '29m60s' }),
  ),

  named('a binding', autoscalingPolicyBinding),
  named('a binding with bounds in the wrong order', withField(autoscalingPolicyBinding, 'spec.homogeneousTarget.minReplicas', 5)),
];
