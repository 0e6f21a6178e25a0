import type { AutoscalingPolicy } from '../../../src/api/autoscaling-policy';
import { boundPolicy } from '../../../src/api/bound-policy';
import { decodeKind, decodeObject } from '../../../src/api/decode-object';
import { scaleTarget, targetRefs } from '../../../src/api/scale-target';
import { autoscalingPolicy, autoscalingPolicyBinding, disaggregatedPolicy, withFields } from '../../helpers/api-objects';

type Fields = Readonly<Record<string, unknown>>;
type Row = readonly [sentence: string, fields: Fields, findings: readonly string[]];

const found = (object: object) => decodeObject(object).findings.map(({ code, field }) => `${code} ${field}`);

function policyWith(fields: Fields): AutoscalingPolicy {
  const outcome = decodeKind('AutoscalingPolicy', withFields(autoscalingPolicy, fields));
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
  return outcome.value;
}

describe('an AutoscalingPolicy', () => {
  const target = 'spec.homogeneousTarget.target';

  it('with an SLO alone says what to write beside it', () => {
    const policy = withFields(autoscalingPolicy, { 'spec.metrics': undefined, 'spec.slo': { ttftMs: 500 } });
    const [finding] = decodeObject(policy).findings;
    expect(finding).toMatchObject({ code: 'autoscaling/no-metrics', field: 'spec.metrics' });
    expect(finding!.remedy).toContain('name at least one metric beside slo, such as { name: running, targetValue: 64 }');
  });

  it.each<Row>([
    ['may be as short as this', {}, []],
    ['may have no target, for a binding to name it', { 'spec.homogeneousTarget': undefined }, []],
    [
      'has one kind of target',
      { 'spec.heterogeneousTarget': { params: [{ target: { targetRef: { name: 'b' } }, minReplicas: 0, maxReplicas: 1 }] } },
      ['autoscaling/one-target spec'],
    ],
    ['scales a Deployment', { [`${target}.targetRef.kind`]: 'Deployment', [`${target}.targetRef.apiVersion`]: 'apps/v1' }, []],
    ['scales a StatefulSet', { [`${target}.targetRef.kind`]: 'StatefulSet' }, []],
    ['scales a LeaderWorkerSet', { [`${target}.targetRef.kind`]: 'LeaderWorkerSet' }, []],
    ['scales no DaemonSet', { [`${target}.targetRef.kind`]: 'DaemonSet' }, [`autoscaling/target-kind ${target}.targetRef.kind`]],
    [
      'names a kind in its own group',
      { [`${target}.targetRef`]: { kind: 'Deployment', apiVersion: 'batch/v1', name: 'a' } },
      [`autoscaling/target-version ${target}.targetRef.apiVersion`],
    ],
    ['names its target', { [`${target}.targetRef.name`]: '' }, [`autoscaling/target-name ${target}.targetRef.name`]],
    ['has a target where Kthena lets it out', { [target]: undefined }, [`autoscaling/target-name ${target}.targetRef.name`]],
    ['aims above zero', { 'spec.metrics[0].targetValue': '0' }, ['autoscaling/target-value spec.metrics[0].targetValue']],
    ['aims at a quantity', { 'spec.metrics[0].targetValue': 'ten' }, ['schema/pattern spec.metrics[0].targetValue']],
    [
      'aims at no fraction that YAML reads as a number',
      { 'spec.metrics[0].targetValue': 0.5 },
      ['schema/type spec.metrics[0].targetValue'],
    ],
    [
      'has no metric twice',
      { 'spec.metrics[1]': { name: 'running', targetValue: 1 } },
      ['autoscaling/duplicate-metric spec.metrics[1].name'],
    ],
    ['has a metric', { 'spec.metrics': undefined }, ['autoscaling/no-metrics spec.metrics']],
    ['may have an SLO beside metrics', { 'spec.slo': { ttftMs: 500 } }, []],
    [
      'has metrics beside an SLO',
      { 'spec.metrics': undefined, 'spec.slo': { ttftMs: 500 } },
      ['autoscaling/no-metrics spec.metrics'],
    ],
    ['has an SLO that says something', { 'spec.slo': {} }, ['autoscaling/empty-slo spec.slo']],
    [
      'reads a metric from somewhere',
      { [`${target}.metricSources`]: { running: {} } },
      [`autoscaling/metric-source ${target}.metricSources.running`],
    ],
    [
      'reads a metric from one place',
      { [`${target}.metricSources`]: { running: { pod: {}, prometheus: { serverURL: 'http://p', query: 'q' } } } },
      [`autoscaling/metric-source ${target}.metricSources.running`],
    ],
    [
      'selects pods by known operators',
      {
        [`${target}.metricSources`]: {
          running: { pod: { labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } } },
        },
      },
      [`autoscaling/selector-operator ${target}.metricSources.running.pod.labelSelector.matchExpressions[0].operator`],
    ],
    [
      'has windows up to half an hour',
      { 'spec.behavior.scaleDown.stabilizationWindow': '30m1s' },
      ['autoscaling/duration spec.behavior.scaleDown.stabilizationWindow'],
    ],
    ['has windows of half an hour', { 'spec.behavior.scaleDown.stabilizationWindow': '30m' }, []],
    [
      'has no negative period',
      { 'spec.behavior.scaleUp.stablePolicy.period': '-1s' },
      ['autoscaling/duration spec.behavior.scaleUp.stablePolicy.period'],
    ],
    [
      'says the period of panic',
      { 'spec.behavior.scaleUp.panicPolicy.percent': 10 },
      ['schema/required spec.behavior.scaleUp.panicPolicy.period'],
    ],
    [
      'holds panic up to half an hour',
      { 'spec.behavior.scaleUp.panicPolicy': { period: '0s', panicModeHold: '1h' } },
      ['autoscaling/duration spec.behavior.scaleUp.panicPolicy.panicModeHold'],
    ],
    [
      'has at least one replica at most',
      { 'spec.homogeneousTarget.maxReplicas': 0 },
      ['schema/range spec.homogeneousTarget.maxReplicas'],
    ],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(autoscalingPolicy, fields))).toEqual(findings);
  });

  const roles = 'spec.disaggregatedTarget.roles';
  const ratio = 'spec.disaggregatedTarget.ratioConstraint';
  it.each<Row>([
    ['may be as short as this', {}, []],
    [
      'has bounds in order',
      { [`${roles}.prefill.minReplicas`]: 5, [ratio]: undefined },
      [`autoscaling/min-above-max ${roles}.prefill`],
    ],
    [
      'has a role with a name',
      { [`${roles}`]: { '': { minReplicas: 1, maxReplicas: 1 } }, [ratio]: undefined },
      [`autoscaling/role-name ${roles}[""]`],
    ],
    [
      'has metrics for roles that scale',
      { 'spec.metrics': undefined },
      [
        `autoscaling/no-metrics ${roles}.prefill.metrics`,
        `autoscaling/unused-metric-source ${roles}.prefill.metricSources.running`,
        `autoscaling/no-metrics ${roles}.decode.metrics`,
        `autoscaling/unused-metric-source ${roles}.decode.metricSources.running`,
      ],
    ],
    ['needs no metrics for a role that does not scale', { [`${roles}.prefill`]: { minReplicas: 2, maxReplicas: 2 } }, []],
    [
      'reads the metrics of roles somewhere',
      { [`${roles}.prefill.metricSources`]: {} },
      [`autoscaling/no-metric-sources ${roles}.prefill.metricSources`],
    ],
    [
      'reads metrics that count',
      { [`${roles}.prefill.metricSources.other`]: { pod: {} } },
      [`autoscaling/unused-metric-source ${roles}.prefill.metricSources.other`],
    ],
    [
      'has a ratio of two roles',
      { [`${roles}.decode`]: undefined },
      ['autoscaling/ratio-roles spec.disaggregatedTarget.roles', `autoscaling/ratio-roles ${ratio}.denominatorRole`],
    ],
    ['has a ratio of different roles', { [`${ratio}.denominatorRole`]: 'prefill' }, [`autoscaling/ratio-roles ${ratio}`]],
    ['has a ratio in order', { [`${ratio}.minRatio`]: 3 }, [`autoscaling/ratio-bounds ${ratio}`]],
    ['has a ratio above zero', { [`${ratio}.minRatio`]: 0, [`${ratio}.maxRatio`]: 0 }, [`autoscaling/ratio-bounds ${ratio}`]],
    ['has no ratio too great to count', { [`${ratio}.maxRatio`]: '1e400' }, [`autoscaling/ratio-bounds ${ratio}`]],
    ['scales both roles to zero or none', { [`${roles}.prefill.minReplicas`]: 0 }, [`autoscaling/ratio-zero ${ratio}`]],
    [
      'has a ratio within reach from above',
      { [`${ratio}.minRatio`]: 5, [`${ratio}.maxRatio`]: 6 },
      [`autoscaling/ratio-unreachable ${ratio}`],
    ],
    [
      'has a ratio within reach from below',
      { [`${ratio}.minRatio`]: '0.1', [`${ratio}.maxRatio`]: '0.2' },
      [`autoscaling/ratio-unreachable ${ratio}`],
    ],
  ])('for roles %s', (_sentence, fields, findings) => {
    expect(found(withFields(disaggregatedPolicy, fields))).toEqual(findings);
  });

  describe('that leaves behavior out', () => {
    const down = { instances: 0, percent: 100, period: '1m', selectPolicy: 'Or', stabilizationWindow: '5m' };
    const stable = { instances: 4, percent: 100, period: '1m', selectPolicy: 'Or', stabilizationWindow: '0s' };
    const panic = { percent: 0, period: '0s', panicThresholdPercent: 200, panicModeHold: '0s' };
    const schemaDefaults = { instances: 1, percent: 100, period: '15s', selectPolicy: 'Or' };
    const whole = { scaleUp: { stablePolicy: stable, panicPolicy: panic }, scaleDown: down };
    it.each([
      ['altogether has the admission defaults', undefined, whole],
      ['by null has them too', null, whole],
      ['but for braces has them too', {}, whole],
      [
        'of scaling up has them there',
        { scaleDown: { percent: 5 } },
        { ...whole, scaleDown: { ...schemaDefaults, percent: 5, stabilizationWindow: '5m' } },
      ],
      [
        'but for an empty scaleDown has the schema defaults there',
        { scaleDown: {} },
        { ...whole, scaleDown: { ...schemaDefaults, stabilizationWindow: '5m' } },
      ],
      ['but for an empty scaleUp has the admission defaults below it', { scaleUp: {} }, whole],
      [
        'but for an empty stablePolicy has the schema defaults there',
        { scaleUp: { stablePolicy: {} } },
        { ...whole, scaleUp: { stablePolicy: { ...schemaDefaults, stabilizationWindow: '0s' }, panicPolicy: panic } },
      ],
      [
        'but for the period of panic has panic',
        { scaleUp: { panicPolicy: { period: '0s' } } },
        {
          ...whole,
          scaleUp: {
            stablePolicy: stable,
            panicPolicy: { percent: 1000, period: '0s', panicThresholdPercent: 200, panicModeHold: '60s' },
          },
        },
      ],
      [
        'but for a window keeps it',
        { scaleDown: { stabilizationWindow: '1s' } },
        { ...whole, scaleDown: { ...schemaDefaults, stabilizationWindow: '1s' } },
      ],
    ])('%s', (_sentence, behavior, filled) => {
      expect(policyWith({ 'spec.behavior': behavior }).spec.behavior).toEqual(filled);
    });
  });

  it('that leaves more out has the schema defaults', () => {
    const { spec } = policyWith({
      'spec.homogeneousTarget.target.metricSources': { running: { pod: {} } },
      'spec.slo': { itlMs: 50 },
    });
    expect(spec.tolerancePercent).toBe(10);
    expect(spec.slo?.percentile).toBe(95);
    expect(spec.homogeneousTarget?.target?.metricSources?.running?.pod).toEqual({ uri: '/metrics', port: 8100 });
  });
});

describe('an AutoscalingPolicyBinding', () => {
  const target = 'spec.homogeneousTarget';
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['names a policy', { 'spec.policyRef': undefined }, ['schema/required spec.policyRef']],
    ['names a target', { [target]: undefined }, ['autoscaling/one-target spec']],
    ['names one target', { 'spec.heterogeneousTarget': {} }, ['autoscaling/one-target spec']],
    [
      'names a workload that scales',
      { [`${target}.target.targetRef.kind`]: 'Job' },
      [`autoscaling/target-kind ${target}.target.targetRef.kind`],
    ],
    [
      'has roles with bounds in order',
      {
        [target]: undefined,
        'spec.disaggregatedTarget': { targetRef: { name: 'a' }, roles: { a: { minReplicas: 2, maxReplicas: 1 } } },
      },
      ['autoscaling/min-above-max spec.disaggregatedTarget.roles.a'],
    ],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(autoscalingPolicyBinding, fields))).toEqual(findings);
  });

  it('amounts to its policy with its own target and name', () => {
    const binding = decodeKind('AutoscalingPolicyBinding', withFields(autoscalingPolicyBinding, { 'metadata.name': 'both' }));
    if (binding.kind === 'invalid') throw new Error('invalid');
    const policy = policyWith({ 'spec.homogeneousTarget': undefined, 'spec.tolerancePercent': 3 });
    const bound = boundPolicy(policy, binding.value);
    expect(bound.metadata.name).toBe('both');
    expect(bound.spec.tolerancePercent).toBe(3);
    expect(bound.spec.behavior).toBe(policy.spec.behavior);
    expect(targetRefs(bound.spec).map(({ ref }) => scaleTarget(ref, 'models'))).toEqual([
      { apiVersion: 'workload.serving.volcano.sh/v1alpha1', kind: 'ModelServing', namespace: 'models', name: 'chat' },
    ]);
    expect(found(bound)).toEqual([]);
  });
});
