import type { KubeObject } from '../../../src/api/meta';
import { expandWorkload, workloadKindOf } from '../../../src/expand';

const template = {
  metadata: { labels: { app: 'x' }, annotations: { 'kvasir.dev/accelerator': 'L4-24GB' } },
  spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.32.0' }] },
};

function workload(kind: 'Deployment' | 'StatefulSet', spec: object, metadata: object = {}): KubeObject {
  const whole = { selector: { matchLabels: { app: 'x' } }, template, ...spec };
  const object = {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'qwen', namespace: 'llm', uid: 'u1', ...metadata },
    spec: whole,
  };
  return object;
}

const names = (object: KubeObject) => expandWorkload(object)!.pods.map(({ pod }) => pod.metadata.name);

describe('a Deployment', () => {
  it('makes pods with the names, labels, annotations and owner of its ReplicaSet', () => {
    const plan = expandWorkload(workload('Deployment', { replicas: 2 }))!;
    expect(plan).toMatchObject({ kind: 'Deployment', replicas: 2, selector: { app: 'x' }, services: [] });
    for (const { pod } of plan.pods) {
      const hash = pod.metadata.labels!['pod-template-hash']!;
      expect(hash).toBe(plan.revision);
      expect(hash).toMatch(/^[bcdf4-9]{1,10}$/);
      expect(pod.metadata.name).toMatch(new RegExp(`^qwen-${hash}-[bcdfghjklmnpqrstvwxz2456789]{5}$`));
      expect(pod.metadata).toMatchObject({
        namespace: 'llm',
        labels: { app: 'x' },
        annotations: { 'kvasir.dev/accelerator': 'L4-24GB' },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `qwen-${hash}`, controller: true }],
      });
      expect(pod.spec).toEqual(template.spec);
    }
  });

  it('makes one pod when replicas are left out, and none for 0', () => {
    expect(expandWorkload(workload('Deployment', {}))!.pods).toHaveLength(1);
    expect(expandWorkload(workload('Deployment', { replicas: 0 }))!.pods).toHaveLength(0);
  });

  it('keeps the names of its pods while it is scaled', () => {
    const many = names(workload('Deployment', { replicas: 1000 }));
    expect(new Set(many).size).toBe(1000);
    expect(names(workload('Deployment', { replicas: 7 }))).toEqual(many.slice(0, 7));
  });

  it('names pods of namesakes in other namespaces differently', () => {
    expect(names(workload('Deployment', {}, { namespace: 'a' }))).not.toEqual(
      names(workload('Deployment', {}, { namespace: 'b' })),
    );
  });

  it('changes its revision with its template, whatever the order of fields, and with nothing else', () => {
    const revision = (spec: object, metadata?: object) => expandWorkload(workload('Deployment', spec, metadata))!.revision;
    const reordered = {
      spec: template.spec,
      metadata: { annotations: template.metadata.annotations, labels: template.metadata.labels },
    };
    expect(revision({ template: reordered, replicas: 9 }, { name: 'other' })).toBe(revision({}));
    expect(
      revision({ template: { ...template, spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2' }] } } }),
    ).not.toBe(revision({}));
  });

  it('cuts a long name so that a pod name keeps to 63 characters', () => {
    for (const name of names(workload('Deployment', { replicas: 3 }, { name: 'x'.repeat(60) }))) expect(name).toHaveLength(63);
  });
});

describe('a StatefulSet', () => {
  it('makes pods by ordinal, with the labels and the host name of its controller', () => {
    const plan = expandWorkload(workload('StatefulSet', { replicas: 2, serviceName: 'qwen-headless' }))!;
    expect(plan.pods.map(({ pod }) => pod.metadata.name)).toEqual(['qwen-0', 'qwen-1']);
    expect(plan.pods[1]!.pod).toMatchObject({
      metadata: {
        labels: {
          app: 'x',
          'apps.kubernetes.io/pod-index': '1',
          'controller-revision-hash': `qwen-${plan.revision}`,
          'statefulset.kubernetes.io/pod-name': 'qwen-1',
        },
        ownerReferences: [{ kind: 'StatefulSet', name: 'qwen', uid: 'u1' }],
      },
      spec: { hostname: 'qwen-1', subdomain: 'qwen-headless', containers: template.spec.containers },
    });
  });
});

describe('a ModelServing', () => {
  const role = (name: string, extra: object = {}) => ({ name, workerReplicas: 0, entryTemplate: template, ...extra });
  const serving = (spec: object, roles: readonly object[]): KubeObject => {
    const whole = { template: { roles }, ...spec };
    const object = {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'ms', namespace: 'llm' },
      spec: whole,
    };
    return object;
  };

  it('gives one replica number to all pods of a serving group', () => {
    const plan = expandWorkload(
      serving({ replicas: 2 }, [
        role('prefill', { replicas: 2 }),
        role('decode', { workerReplicas: 1, workerTemplate: template }),
      ]),
    )!;
    expect(plan.pods.map(({ pod, replica }) => [pod.metadata.name, replica])).toEqual([
      ['ms-0-prefill-0-0', 0],
      ['ms-0-prefill-1-0', 0],
      ['ms-0-decode-0-0', 0],
      ['ms-0-decode-0-1', 0],
      ['ms-1-prefill-0-0', 1],
      ['ms-1-prefill-1-0', 1],
      ['ms-1-decode-0-0', 1],
      ['ms-1-decode-0-1', 1],
    ]);
  });

  it('is scaled by one entry pod per group', () => {
    const plan = expandWorkload(serving({ replicas: 3 }, [role('prefill', { replicas: 2 }), role('decode')]))!;
    const selected = plan.pods.filter(({ pod }) =>
      Object.entries(plan.selector).every(([key, value]) => pod.metadata.labels?.[key] === value),
    );
    expect(selected.map(({ pod }) => pod.metadata.name)).toEqual(['ms-0-prefill-0-0', 'ms-1-prefill-0-0', 'ms-2-prefill-0-0']);
  });

  it('lets template labels override its own, and its environment override the template’s', () => {
    const own = {
      metadata: { labels: { 'modelserving.volcano.sh/group-name': 'group-0' } },
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'WORKER_INDEX', value: '7' },
              { name: 'A', value: '1' },
            ],
          },
        ],
      },
    };
    const { pod } = expandWorkload(serving({}, [role('r', { entryTemplate: own })]))!.pods[0]!;
    expect(pod.metadata.labels!['modelserving.volcano.sh/group-name']).toBe('group-0');
    expect(pod.spec.containers[0]!.env).toEqual([
      { name: 'A', value: '1' },
      { name: 'GROUP_SIZE', value: '1' },
      { name: 'ENTRY_ADDRESS', value: 'ms-0-r-0-0.llm' },
      { name: 'WORKER_INDEX', value: '0' },
    ]);
  });

  it('keeps its revision when only replicas or rollout limits change', () => {
    const revision = (roles: readonly object[], spec: object = {}) => expandWorkload(serving(spec, roles))!.revision;
    expect(revision([role('r', { replicas: 4, maxUnavailable: 2, partition: 1 })], { replicas: 9 })).toBe(revision([role('r')]));
    expect(revision([role('r', { workerReplicas: 1 })])).not.toBe(revision([role('r')]));
  });

  it('changes pods as its plugins say, within their scope', () => {
    const plugin = (scope: object) => ({
      name: 'demo-pod-tweaks',
      type: 'BuiltIn',
      config: { runtimeClassName: 'nvidia', annotations: { a: 'b' }, env: [{ name: 'X', value: '1' }] },
      scope,
    });
    const changed = (scope: object) =>
      expandWorkload(
        serving({ plugins: [plugin(scope), { name: 'unheard-of' }] }, [
          role('p', { workerReplicas: 1, workerTemplate: template }),
          role('d'),
        ]),
      )!
        .pods.filter(({ pod }) => pod.metadata.annotations!.a === 'b')
        .map(({ pod }) => pod);
    const named = (scope: object) => changed(scope).map(({ metadata }) => metadata.name);
    expect(named({})).toEqual(['ms-0-p-0-0', 'ms-0-p-0-1', 'ms-0-d-0-0']);
    expect(named({ roles: ['p'], target: 'All' })).toEqual(['ms-0-p-0-0', 'ms-0-p-0-1']);
    expect(named({ target: 'Entry' })).toEqual(['ms-0-p-0-0', 'ms-0-d-0-0']);
    expect(named({ target: 'Worker' })).toEqual(['ms-0-p-0-1']);
    expect(named({ target: 'entry' })).toEqual([]);
    const { spec } = changed({ target: 'Worker' })[0]!;
    expect(spec).toMatchObject({ runtimeClassName: 'nvidia' });
    expect(spec.containers[0]!.env!.at(-1)).toEqual({ name: 'X', value: '1' });
  });

  it('has no gang annotations under another scheduler', () => {
    const annotations = (schedulerName: string) =>
      expandWorkload(serving({ schedulerName }, [role('r')]))!.pods[0]!.pod.metadata.annotations;
    expect(annotations('volcano')).toMatchObject({ 'scheduling.k8s.io/group-name': 'ms-0', 'volcano.sh/task-spec': 'r-0' });
    expect(annotations('default-scheduler')).toEqual(template.metadata.annotations);
  });
});

describe('other kinds', () => {
  it.each([
    ['v1', 'Service'],
    ['example.com/v1', 'Deployment'],
    ['workload.serving.volcano.sh/v1alpha1', 'ModelBooster'],
  ])('%s %s is no workload', (apiVersion, kind) => {
    const object = { apiVersion, kind, metadata: { name: 'x' } };
    expect(workloadKindOf(object)).toBeUndefined();
    expect(expandWorkload(object)).toBeUndefined();
  });
});
