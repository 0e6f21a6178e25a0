import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import { billOfObjects } from '../../../src/checks';
import { findingLine } from '../../../src/errors';
import { readManifests } from '../../../src/read-manifests';

const pod = (accelerator: string, gpus: number, price?: string) => `
metadata:
  labels: { app: x }
  annotations: { kvasir.dev/accelerator: ${accelerator}${price === undefined ? '' : `, kvasir.dev/cost-per-replica-hour: "${price}"`} }
spec:
  containers:
    - { name: engine, image: "vllm/vllm-openai:v0.32.0", resources: { limits: { nvidia.com/gpu: "${gpus}" } } }`;
const indented = (text: string, spaces: number) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`);

const decoded = (object: KubeObject): KubeObject => {
  if (apiKindOf(object) === undefined) return object;
  const outcome = decodeObject(object);
  if (outcome.kind === 'invalid') throw new Error(outcome.findings.map(findingLine).join('\n'));
  return outcome.value;
};

const bill = (...documents: readonly string[]) =>
  billOfObjects(
    readManifests(documents.join('\n---\n'), 'stack.yaml').objects.map(({ object, file }) => ({ object: decoded(object), file })),
  );

const deployment = (name: string, template: string, replicas: number, labels = '') => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: llm, labels: {${labels}} }
spec:
  replicas: ${replicas}
  template:${indented(template, 4)}`;

describe('the bill of a folder', () => {
  it('takes annotated prices, else list prices, at the replicas that are written', () => {
    const { lines, max } = bill(deployment('a', pod('L40S-48GB', 1, '1.20'), 3), deployment('b', pod('H100-SXM-80GB', 2), 1));
    expect(lines).toEqual([
      {
        path: 'Deployment llm/a',
        file: 'stack.yaml',
        model: 'a',
        workload: 'a',
        accelerator: 'L40S-48GB',
        min: { gpus: 3, costPerHour: 3.6 },
        max: { gpus: 3, costPerHour: 3.6 },
      },
      expect.objectContaining({ workload: 'b', max: { gpus: 2, costPerHour: 13.76 } }),
    ]);
    expect(max).toEqual({ gpus: 5, costPerHour: 17.36 });
  });

  it('takes the bounds of a policy, and sums the pools of a model', () => {
    const { models } = bill(
      deployment('m-a', pod('L40S-48GB', 1, '1'), 1, 'kvasir.dev/model: m'),
      deployment('m-b', pod('H100-SXM-80GB', 1, '4'), 1, 'kvasir.dev/model: m'),
      `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: AutoscalingPolicy
metadata: { name: m, namespace: llm }
spec:
  metrics: [{ name: running, targetValue: 8 }]
  heterogeneousTarget:
    params:
      - { minReplicas: 0, maxReplicas: 8, target: { targetRef: { kind: Deployment, name: m-a } } }
      - { minReplicas: 1, maxReplicas: 2, target: { targetRef: { kind: Deployment, name: m-b } } }`,
    );
    expect(models).toEqual([{ model: 'm', min: { gpus: 1, costPerHour: 4 }, max: { gpus: 10, costPerHour: 16 } }]);
  });

  it('counts leaders and workers, and their price once for a replica', () => {
    const { models } = bill(`
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: { name: wide, namespace: llm }
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    workerTemplate:${indented(pod('H200-141GB', 8, '200'), 6)}`);
    expect(models[0]!.max).toEqual({ gpus: 48, costPerHour: 400 });
  });

  it('counts the roles of a ModelServing by the policy that scales them, in each of its groups', () => {
    const role = (name: string, template: string, replicas: number) => `
      - name: ${name}
        replicas: ${replicas}
        workerReplicas: 0
        entryTemplate:${indented(template, 10)}`;
    const serving = `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: { name: pd, namespace: llm }
spec:
  replicas: 2
  template:
    roles:${role('prefill', pod('H200-141GB', 2, '10'), 1)}${role('decode', pod('H200-141GB', 4, '20'), 3)}`;
    const policy = `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: AutoscalingPolicy
metadata: { name: pd, namespace: llm }
spec:
  metrics: [{ name: running, targetValue: 8 }]
  disaggregatedTarget:
    targetRef: { name: pd }
    roles:
      decode: { minReplicas: 2, maxReplicas: 5, metricSources: { running: { pod: {} } } }`;
    expect(bill(serving).max).toEqual({ gpus: 2 * (2 + 3 * 4), costPerHour: 2 * (10 + 60) });
    expect(bill(serving, policy)).toMatchObject({
      min: { gpus: 2 * (2 + 2 * 4), costPerHour: 2 * (10 + 40) },
      max: { gpus: 2 * (2 + 5 * 4), costPerHour: 2 * (10 + 100) },
    });
  });

  it('knows no price where one is missing, and leaves out what has no accelerator', () => {
    const { lines, min } = bill(
      deployment('a', pod('H9000', 1), 1),
      deployment('web', '\nspec: { containers: [{ name: web, image: "web:1" }] }', 4),
    );
    expect(lines.map(({ workload }) => workload)).toEqual(['a']);
    expect(min).toEqual({ gpus: 1, costPerHour: undefined });
  });
});
