import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import { mayMatch, podTemplatesOf } from '../../../src/checks/pod-templates';
import { checkReferences } from '../../../src/checks/references';
import { findingLine } from '../../../src/errors';
import { readManifests } from '../../../src/read-manifests';
import {
  autoscalingPolicy,
  autoscalingPolicyBinding,
  disaggregatedPolicy,
  externalModelProvider,
  modelBooster,
  modelRoute,
  modelServer,
  modelServing,
  withField,
  withFields,
} from '../../helpers/api-objects';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'chat', namespace: 'models' },
  spec: { template: { metadata: { labels: { app: 'chat' } }, spec: { containers: [] } } },
};

function decoded(object: object): KubeObject {
  if (apiKindOf(object) === undefined) return object as KubeObject;
  const outcome = decodeObject(object);
  if (outcome.kind === 'invalid') throw new Error(outcome.findings.map(findingLine).join('\n'));
  return outcome.value;
}

const check = (...objects: readonly object[]) => checkReferences(objects.map((object) => ({ object: decoded(object) })));
const found = (...objects: readonly object[]) =>
  check(...objects).map(({ severity, code, object, field }) => `${severity} ${code} ${object} ${field}`);

describe('checkReferences', () => {
  it('finds nothing in a whole stack', () => {
    expect(found(modelRoute, modelServer, modelServing, autoscalingPolicy)).toEqual([]);
  });

  it('says in one line what is wrong, where, and what to do', () => {
    const findings = checkReferences([{ object: decoded(modelRoute), file: 'chat.yaml' }]);
    expect(findings.map(findingLine)).toEqual([
      'chat.yaml: ModelRoute models/chat: spec.rules[0].targetModels[0].modelServerName: there is no ModelServer "chat" in namespace models; add it, or correct the name [routing/missing-server]',
    ]);
  });

  const elsewhere = (object: { metadata: object }) => withField(object, 'metadata.namespace', 'other');
  const provider = withField(modelRoute, 'spec.rules[0].targetModels[0]', { externalModelProviderName: 'cloud' });
  const pdServer = withField(modelServer, 'spec.workloadSelector', {
    matchLabels: { 'modelserving.volcano.sh/name': 'chat' },
    pdGroup: {
      groupKey: 'modelserving.volcano.sh/group-name',
      prefillLabels: { 'modelserving.volcano.sh/role': 'prefill' },
      decodeLabels: { 'modelserving.volcano.sh/role': 'decode' },
    },
  });
  const pdServing = withFields(modelServing, {
    'spec.template.roles[0].name': 'prefill',
    'spec.template.roles[1]': { ...structuredClone(modelServing.spec.template.roles[0]), name: 'decode' },
  });
  const targetName = 'spec.homogeneousTarget.target.targetRef.name';
  const deploymentPolicy = withField(autoscalingPolicy, 'spec.homogeneousTarget.target.targetRef.kind', 'Deployment');
  const hpa = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'chat', namespace: 'models' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' } },
  };
  const keda = {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: 'chat', namespace: 'models' },
    spec: { scaleTargetRef: { name: 'chat' } },
  };
  const shared = withFields(autoscalingPolicy, { 'metadata.name': 'shared', 'spec.homogeneousTarget': undefined });

  it.each<readonly [sentence: string, objects: readonly object[], findings: readonly string[]]>([
    [
      'a server of another namespace',
      [modelRoute, elsewhere(modelServer), elsewhere(deployment)],
      ['error routing/missing-server ModelRoute models/chat spec.rules[0].targetModels[0].modelServerName'],
    ],
    ['a provider that is there', [provider, externalModelProvider], []],
    [
      'a provider that is not',
      [provider],
      ['error routing/missing-provider ModelRoute models/chat spec.rules[0].targetModels[0].externalModelProviderName'],
    ],
    [
      'a server that a booster makes',
      [withField(modelRoute, 'spec.rules[0].targetModels[0].modelServerName', 'chat-gpu'), modelBooster],
      [],
    ],
    ['a server whose pods a Deployment makes', [modelServer, deployment], []],
    [
      'a server whose pods are given',
      [
        modelServer,
        { ...deployment, apiVersion: 'v1', kind: 'Pod', metadata: { ...deployment.metadata, labels: { app: 'chat' } } },
      ],
      [],
    ],
    [
      'a server whose pods nothing makes',
      [modelServer, withField(deployment, 'spec.template.metadata.labels.app', 'x')],
      ['warning routing/no-pods ModelServer models/chat spec.workloadSelector.matchLabels'],
    ],
    [
      'a server whose pods are in another namespace',
      [modelServer, elsewhere(deployment)],
      ['warning routing/no-pods ModelServer models/chat spec.workloadSelector.matchLabels'],
    ],
    ['prefill and decode by the labels of the controller', [pdServer, pdServing], []],
    [
      'decode that nothing makes',
      [pdServer, withField(pdServing, 'spec.template.roles[1].name', 'other')],
      ['warning routing/no-pods ModelServer models/chat spec.workloadSelector.pdGroup.decodeLabels'],
    ],
    [
      'pairs by a label that pods lack',
      [withField(pdServer, 'spec.workloadSelector.pdGroup.groupKey', 'pair'), pdServing],
      [
        'warning routing/no-group-label ModelServer models/chat spec.workloadSelector.pdGroup.groupKey',
        'warning routing/no-group-label ModelServer models/chat spec.workloadSelector.pdGroup.groupKey',
      ],
    ],
    [
      'one object twice',
      [modelServer, deployment, withField(deployment, 'metadata.labels', {})],
      ['error references/duplicate Deployment models/chat metadata.name'],
    ],
    ['one name for two kinds', [deployment, { ...deployment, kind: 'StatefulSet' }], []],
    [
      'two routes for one model',
      [modelServer, deployment, modelRoute, withField(modelRoute, 'metadata.name', 'a')],
      ['warning routing/shadowed ModelRoute models/chat spec.modelName'],
    ],
    [
      'two routes for one model, by age',
      [
        modelServer,
        deployment,
        withField(modelRoute, 'metadata.creationTimestamp', '2026-01-01T00:00:00Z'),
        withFields(modelRoute, { 'metadata.name': 'a', 'metadata.creationTimestamp': '2026-01-02T00:00:00Z' }),
      ],
      ['warning routing/shadowed ModelRoute models/a spec.modelName'],
    ],
    [
      'two routes for one adapter',
      [
        modelServer,
        deployment,
        ...['a', 'b'].map((name) =>
          withFields(modelRoute, { 'metadata.name': name, 'spec.modelName': name, 'spec.loraAdapters': ['x'] }),
        ),
      ],
      ['warning routing/shadowed ModelRoute models/b spec.loraAdapters[0]'],
    ],
    [
      'two routes for one model, the older with conditions',
      [
        modelServer,
        deployment,
        withFields(modelRoute, { 'metadata.name': 'a', 'spec.rules[0].modelMatch': { headers: { tier: { exact: 'beta' } } } }),
        modelRoute,
      ],
      ['info routing/shared-name ModelRoute models/chat spec.modelName'],
    ],
    [
      'two routes for one model at different gateways',
      [
        modelServer,
        deployment,
        withFields(modelRoute, { 'metadata.name': 'a', 'spec.parentRefs': [{ name: 'inside' }] }),
        withField(modelRoute, 'spec.parentRefs', [{ name: 'outside' }]),
      ],
      ['info routing/shared-name ModelRoute models/chat spec.modelName'],
    ],
    [
      'a workload to scale that is not there',
      [autoscalingPolicy],
      [`error autoscaling/missing-target AutoscalingPolicy models/chat ${targetName}`],
    ],
    [
      'a workload to scale of another kind',
      [deploymentPolicy, modelServing],
      [`error autoscaling/missing-target AutoscalingPolicy models/chat ${targetName}`],
    ],
    ['a workload to scale that is there', [deploymentPolicy, deployment], []],
    ['a workload that a booster makes', [withField(autoscalingPolicy, targetName, 'chat-gpu'), modelBooster], []],
    ['roles to scale that are there', [disaggregatedPolicy, pdServing], []],
    [
      'roles to scale that are not',
      [disaggregatedPolicy, withField(pdServing, 'spec.template.roles[1].name', 'other')],
      ['error autoscaling/missing-role AutoscalingPolicy models/chat spec.disaggregatedTarget.roles.decode'],
    ],
    [
      'bounds in the wrong order',
      [withField(autoscalingPolicy, 'spec.homogeneousTarget.minReplicas', 5), modelServing],
      ['error autoscaling/min-above-max AutoscalingPolicy models/chat spec.homogeneousTarget'],
    ],
    ['a policy without target', [shared], ['warning autoscaling/no-target AutoscalingPolicy models/shared spec']],
    ['a binding and its policy', [autoscalingPolicyBinding, shared, modelServing], []],
    [
      'a binding without its policy',
      [autoscalingPolicyBinding, modelServing],
      ['error autoscaling/missing-policy AutoscalingPolicyBinding models/chat spec.policyRef.name'],
    ],
    [
      'a binding whose policy has no metrics',
      [autoscalingPolicyBinding, withField(shared, 'spec.metrics', []), modelServing],
      ['error autoscaling/no-metrics AutoscalingPolicyBinding models/chat spec.metrics'],
    ],
    [
      'a policy and a binding for one workload',
      [autoscalingPolicy, autoscalingPolicyBinding, shared, modelServing],
      ['warning autoscaling/two-scalers AutoscalingPolicyBinding models/chat spec.homogeneousTarget.target.targetRef'],
    ],
    [
      'two policies for one role',
      [disaggregatedPolicy, withField(disaggregatedPolicy, 'metadata.name', 'other'), pdServing],
      [
        'warning autoscaling/two-scalers AutoscalingPolicy models/other spec.disaggregatedTarget.roles.prefill',
        'warning autoscaling/two-scalers AutoscalingPolicy models/other spec.disaggregatedTarget.roles.decode',
      ],
    ],
    [
      'a policy and an HPA for one workload',
      [deploymentPolicy, deployment, hpa],
      ['warning autoscaling/two-scalers HorizontalPodAutoscaler models/chat spec.scaleTargetRef'],
    ],
    [
      'a policy and KEDA for one workload',
      [deploymentPolicy, deployment, keda],
      ['warning autoscaling/two-scalers ScaledObject models/chat spec.scaleTargetRef'],
    ],
    ['an HPA for a workload of another namespace', [deploymentPolicy, deployment, elsewhere(hpa)], []],
  ])('%s', (_sentence, objects, findings) => {
    expect(found(...objects)).toEqual(findings);
  });
});

it("checkReferences finds one loose end in Kthena's router examples: a server whose pods are in no file", () => {
  const folder = join(__dirname, '../../fixtures/kthena-examples/kthena-router');
  const objects = readdirSync(folder)
    .sort()
    .flatMap((file) => readManifests(readFileSync(join(folder, file), 'utf8'), file).objects)
    .map(({ object, file }) => ({ object: decoded(object), file }));
  expect(objects.length).toBeGreaterThan(20);
  expect(checkReferences(objects).map(({ code, file, object }) => `${code} ${file} ${object}`)).toEqual([
    'routing/no-pods ModelServer-prefill-decode-disaggregation.yaml ModelServer dev/deepseek-v2',
  ]);
});

describe('podTemplatesOf', () => {
  const lws = {
    apiVersion: 'leaderworkerset.x-k8s.io/v1',
    kind: 'LeaderWorkerSet',
    metadata: { name: 'big' },
    spec: {
      leaderWorkerTemplate: {
        leaderTemplate: { metadata: { labels: { role: 'leader' } } },
        workerTemplate: { metadata: { labels: { role: 'worker' } } },
      },
    },
  };
  it.each<readonly [what: string, object: object, labels: Readonly<Record<string, string>>, matches: boolean]>([
    ['a leader', lws, { role: 'leader', 'leaderworkerset.sigs.k8s.io/name': 'big' }, true],
    [
      'leaders by index, which the controller chooses',
      lws,
      { role: 'leader', 'leaderworkerset.sigs.k8s.io/worker-index': '0' },
      true,
    ],
    ['a leader of another set', lws, { role: 'leader', 'leaderworkerset.sigs.k8s.io/name': 'small' }, false],
    [
      'an entry pod',
      decoded(modelServing),
      { 'modelserving.volcano.sh/entry': 'true', 'modelserving.volcano.sh/role': 'server' },
      true,
    ],
    ['a worker pod that is not made', decoded(modelServing), { 'modelserving.volcano.sh/entry': 'false' }, false],
    ['a label that no pod has', deployment, { other: 'x' }, false],
    ['a ConfigMap', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: { app: 'chat' } } }, {}, false],
    ['a Deployment of another group', { ...deployment, apiVersion: 'example.com/v1' }, {}, false],
  ])('%s', (_what, object, labels, matches) => {
    expect(podTemplatesOf(object as KubeObject).some((template) => mayMatch(template, labels))).toBe(matches);
  });
});
