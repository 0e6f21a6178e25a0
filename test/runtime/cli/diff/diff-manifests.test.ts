import { diffLines } from '../../../../runtime/cli/diff/diff-lines';
import { diffManifests } from '../../../../runtime/cli/diff/diff-manifests';
import { readManifests } from '../../../../src/read-manifests';

const deployment = (fields = '', image = 'e:1', app = 'm') => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: m, namespace: llm }
spec:
  ${fields}
  selector: { matchLabels: { app: ${app} } }
  template:
    metadata:
      labels: { app: ${app}, kvasir.dev/model: chat }
      annotations: { kvasir.dev/accelerator: L40S-48GB, kvasir.dev/cost-per-replica-hour: "1.2" }
    spec:
      containers: [{ name: engine, image: '${image}', resources: { limits: { nvidia.com/gpu: "1" } } }]
`;
const policy = (min: number, max: number) => `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: AutoscalingPolicy
metadata: { name: m, namespace: llm }
spec:
  metrics: [{ name: r, targetValue: "1" }]
  homogeneousTarget: { target: { targetRef: { apiVersion: apps/v1, kind: Deployment, name: m } }, minReplicas: ${min}, maxReplicas: ${max} }
`;
const object = (apiVersion: string, kind: string, rest: string) =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: o, namespace: llm }\n${rest}\n`;

function diff(before: readonly string[], after: readonly string[]) {
  const read = (texts: readonly string[]) => texts.flatMap((text, i) => readManifests(text, `${i}.yaml`).objects);
  return diffManifests(read(before), read(after));
}

const effects = (before: readonly string[], after: readonly string[]) =>
  diff(before, after).changes.flatMap((change) => change.effects);

describe('what a change does in a cluster', () => {
  it('is nothing when nothing changed, whatever the order and layout of the files', () => {
    const result = diff([deployment(), policy(1, 2)], [policy(1, 2), deployment().replaceAll('[{ name', '[ { name')]);
    expect(result).toMatchObject({ changes: [], unchanged: 2 });
    expect(diffLines(result)).toEqual(['no difference in 2 objects']);
  });

  it.each([
    [
      'another image restarts every pod',
      [deployment('replicas: 3')],
      [deployment('replicas: 3', 'e:2')],
      [{ kind: 'restarts', pods: { min: 3, max: 3 } }],
    ],
    [
      'of a scaled workload between its bounds',
      [deployment(), policy(1, 4)],
      [deployment('', 'e:2'), policy(1, 4)],
      [{ kind: 'restarts', pods: { min: 1, max: 4 } }],
    ],
    [
      'another selector replaces the workload',
      [deployment('replicas: 2')],
      [deployment('replicas: 2', 'e:1', 'n')],
      [{ kind: 'replaced', fields: ['spec.selector.matchLabels.app'], pods: { min: 2, max: 2 } }],
    ],
    [
      'fewer replicas are dropped',
      [deployment('replicas: 3')],
      [deployment('replicas: 2')],
      [{ kind: 'fewer-replicas', before: { min: 3, max: 3 }, after: { min: 2, max: 2 } }],
    ],
    ['more are not', [deployment('replicas: 2')], [deployment('replicas: 3')], []],
    ['a rollout rule alone restarts nothing', [deployment()], [deployment('minReadySeconds: 5')], []],
    [
      'a lower bound of a policy drops replicas of the workload that it scales',
      [deployment(), policy(2, 4)],
      [deployment(), policy(1, 4)],
      [{ kind: 'fewer-replicas', before: { min: 2, max: 4 }, after: { min: 1, max: 4 } }],
    ],
    [
      'a scaler that takes over a live workload resets it first',
      [deployment('replicas: 3')],
      [deployment(), policy(3, 6)],
      [{ kind: 'resets-replicas', before: 3 }],
    ],
    [
      'a workload that goes stops its pods',
      [deployment('replicas: 2')],
      [],
      [{ kind: 'stops', replicas: { min: 2, max: 2 }, pods: { min: 2, max: 2 } }],
    ],
    [
      'a claim that says so stays',
      [
        object('v1', 'PersistentVolumeClaim', '').replace(
          'llm }',
          'llm, annotations: { argocd.argoproj.io/sync-options: Prune=false } }',
        ),
      ],
      [],
      [{ kind: 'stays' }],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(effects(before, after)).toEqual(expected);
  });

  it.each([
    ['a Service', 'v1', 'Service', 'spec: { clusterIP: None }', 'spec: { clusterIP: 10.0.0.1 }', ['spec.clusterIP']],
    ['the ports of a Service', 'v1', 'Service', 'spec: { ports: [{ port: 80 }] }', 'spec: { ports: [{ port: 81 }] }', []],
    ['a Job', 'batch/v1', 'Job', 'spec: { template: { a: 1 } }', 'spec: { template: { a: 2 } }', ['spec.template.a']],
    ['the parallelism of a Job', 'batch/v1', 'Job', 'spec: { parallelism: 1 }', 'spec: { parallelism: 2 }', []],
    [
      'the class of a claim',
      'v1',
      'PersistentVolumeClaim',
      'spec: { storageClassName: a, resources: { requests: { storage: 1Gi } } }',
      'spec: { storageClassName: b, resources: { requests: { storage: 2Gi } } }',
      ['spec.storageClassName'],
    ],
    ['a sealed ConfigMap', 'v1', 'ConfigMap', 'immutable: true\ndata: { a: x }', 'immutable: true\ndata: { a: z }', ['data.a']],
    ['any other ConfigMap', 'v1', 'ConfigMap', 'data: { a: x }', 'data: { a: z }', []],
    [
      'what a role is bound to',
      'rbac.authorization.k8s.io/v1',
      'RoleBinding',
      'roleRef: { name: a }',
      'roleRef: { name: b }',
      ['roleRef.name'],
    ],
    [
      'the model of a route',
      'networking.serving.volcano.sh/v1alpha1',
      'ModelRoute',
      'spec: { modelName: a, rules: [{ targetModels: [{ modelServerName: s }] }] }',
      'spec: { modelName: b, rules: [{ targetModels: [{ modelServerName: s }] }] }',
      ['spec.modelName'],
    ],
  ])('knows what the API server refuses to change: %s', (_, apiVersion, kind, before, after, fields) => {
    const found = effects([object(apiVersion, kind, before)], [object(apiVersion, kind, after)]);
    expect(found.flatMap((effect) => (effect.kind === 'replaced' ? effect.fields : []))).toEqual(fields);
  });

  it('tells it all as lines, with GPUs and cost before and after', () => {
    const result = diff(
      [deployment('replicas: 3'), object('v1', 'ConfigMap', `data: { text: ${'x'.repeat(100)} }`)],
      [deployment('replicas: 2', 'e:2'), object('v1', 'Secret', ''), object('v1', 'ConfigMap', 'data: { text: z }')],
    );
    expect(diffLines(result)).toEqual([
      'changed ConfigMap llm/o',
      expect.stringMatching(/^ {2}data\.text: "x{78}… → "z"$/),
      'changed Deployment llm/m',
      '  spec.replicas: 3 → 2',
      '  spec.template.spec.containers[engine].image: "e:1" → "e:2"',
      '  ! restarts 3 pods, which start with cold caches',
      '  ! drops replicas: 3 → 2',
      'added Secret llm/o',
      '2 changed, 1 added, 0 removed, 0 unchanged',
      '1 restarted, 1 with dropped replicas',
      'GPUs 3 → 2',
      'cost per hour 3.60 → 2.40',
    ]);
    expect(result.bill.after.models).toEqual([
      { model: 'chat', min: { gpus: 2, costPerHour: 2.4 }, max: { gpus: 2, costPerHour: 2.4 } },
    ]);
  });
});
