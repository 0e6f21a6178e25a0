import type { KubeObject } from '../../../src/api/meta';
import {
  autoscalingPolicy,
  disaggregatedBooster,
  disaggregatedPolicy,
  modelRoute,
  modelServer,
  modelServing,
  withFields,
} from '../api-objects';

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const mapOf = <T>(count: number, make: (i: number) => T): Record<string, T> =>
  Object.fromEntries(times(count, (i) => [`key-${i}`, make(i)]));

const metrics = (count: number) => times(count, (i) => ({ name: `key-${i}`, targetValue: `${i + 1}500m` }));
const source = {
  pod: { labelSelector: { matchExpressions: times(4, (i) => ({ key: `k${i}`, operator: 'In', values: ['a'] })) } },
};
const container = (i: number) => ({ name: `c${i}`, image: `registry.example.com/team/engine-${i}:v1.2.3` });
const template = { spec: { containers: times(12, container) } };

/** Objects that keep the rules and are larger than anybody writes: CEL may only compute for so long. */
export const largeObjects = (): Readonly<Record<string, KubeObject>> => ({
  'a route of 16 rules, each with 16 targets and 20 header expressions': withFields(modelRoute, {
    'spec.loraAdapters': times(10, (i) => `adapter-${i}`),
    'spec.rules': times(16, (i) => ({
      modelMatch: {
        uri: { regex: `^/v1/(chat|completions|${i})+/.*$` },
        headers: mapOf(20, (h) => ({ regex: `^(team-${h}|[a-z]{1,20})$` })),
      },
      targetModels: times(16, (t) => ({ modelServerName: `server-${t}`, weight: t })),
    })),
  }),
  'a server of 60 labels': withFields(modelServer, {
    'spec.workloadSelector.matchLabels': mapOf(60, () => 'x'.repeat(63)),
    'spec.workloadSelector.pdGroup': {
      groupKey: `${'a'.repeat(63)}.example.com/${'b'.repeat(63)}`,
      prefillLabels: mapOf(60, () => 'p'.repeat(63)),
      decodeLabels: mapOf(60, () => 'd'.repeat(63)),
    },
  }),
  'a policy of 20 metrics and 50 pools': withFields(autoscalingPolicy, {
    'spec.metrics': metrics(20),
    'spec.homogeneousTarget': undefined,
    'spec.heterogeneousTarget.params': times(50, (i) => ({
      target: {
        targetRef: { kind: 'Deployment', apiVersion: 'apps/v1', name: `pool-${i}` },
        metricSources: mapOf(20, () => source),
      },
      minReplicas: 0,
      maxReplicas: 1_000_000,
    })),
  }),
  'a policy of two roles with 50 metrics each': withFields(disaggregatedPolicy, {
    'spec.disaggregatedTarget.roles': Object.fromEntries(
      ['prefill', 'decode'].map((role) => [
        role,
        { minReplicas: 1, maxReplicas: 4, metrics: metrics(50), metricSources: mapOf(50, () => source) },
      ]),
    ),
  }),
  'a serving of four roles with 12 containers each': withFields(modelServing, {
    'spec.template.gangPolicy.minRoleReplicas': Object.fromEntries(times(4, (i) => [`role-${i}`, 1])),
    'spec.template.roles': times(4, (i) => ({
      name: `role-${i}`,
      replicas: 100,
      workerReplicas: 7,
      entryTemplate: template,
      workerTemplate: template,
    })),
  }),
  'a booster with 200 flags and a long transfer': withFields(disaggregatedBooster, {
    'spec.backend.workers': (['prefill', 'decode'] as const).map((type) => ({
      type,
      image: `registry.example.com/${'a'.repeat(200)}:1`,
      config: {
        ...mapOf(200, () => 'x'.repeat(100)),
        port: 9000,
        'kv-transfer-config': JSON.stringify({
          ...mapOf(30, (i) => `value ${i}`),
          kv_connector: 'NixlConnector',
          kv_role: type === 'prefill' ? 'kv_producer' : 'kv_consumer',
        }),
      },
    })),
  }),
});
