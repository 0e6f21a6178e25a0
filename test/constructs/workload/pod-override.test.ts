import { Chart, Testing } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Accelerator, Engine, ModelSource, ServingGroup } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import { PodOverride } from '../../../constructs/workload/pod-override';
import type { PodTemplate } from '../../../constructs/workload/pod-template';

const base: PodTemplate = {
  metadata: { labels: { app: 'a' }, annotations: { x: '1' } },
  spec: {
    containers: [
      {
        name: 'engine',
        image: 'e:1',
        args: ['--a', '1'],
        env: [{ name: 'A', value: '1' }],
        ports: [{ containerPort: 80, name: 'http' }],
      },
    ],
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    nodeSelector: { pool: 'a' },
  },
};

const merged = (patch: object) => new PodOverride().merge({ ...patch }).apply(base).spec;

describe('PodOverride.merge', () => {
  it.each([
    ['merges objects field by field', { nodeSelector: { zone: 'z' } }, { nodeSelector: { pool: 'a', zone: 'z' } }],
    [
      'adds elements to a list',
      { tolerations: [{ key: 'spot' }] },
      { tolerations: [{ key: 'gpu', operator: 'Exists' }, { key: 'spot' }] },
    ],
    [
      'adds no element twice',
      { tolerations: [{ key: 'gpu', operator: 'Exists' }] },
      { tolerations: [{ key: 'gpu', operator: 'Exists' }] },
    ],
    [
      'merges containers by name, and their variables by name',
      {
        containers: [
          {
            name: 'engine',
            env: [
              { name: 'A', value: '2' },
              { name: 'B', value: '3' },
            ],
          },
        ],
      },
      {
        containers: [
          {
            ...base.spec.containers[0],
            env: [
              { name: 'A', value: '2' },
              { name: 'B', value: '3' },
            ],
          },
        ],
      },
    ],
    [
      'adds a container of another name',
      { containers: [{ name: 'sidecar' }] },
      { containers: [base.spec.containers[0], { name: 'sidecar' }] },
    ],
    [
      'replaces arguments as a whole',
      { containers: [{ name: 'engine', args: ['--b'] }] },
      { containers: [{ ...base.spec.containers[0], args: ['--b'] }] },
    ],
    [
      'merges ports by number',
      { containers: [{ name: 'engine', ports: [{ containerPort: 80, hostPort: 8080 }] }] },
      { containers: [{ ...base.spec.containers[0], ports: [{ containerPort: 80, name: 'http', hostPort: 8080 }] }] },
    ],
    ['replaces a value of another type', { nodeSelector: 'none' }, { nodeSelector: 'none' }],
  ])('%s', (_, patch, expected) => {
    expect(merged(patch)).toEqual({ ...base.spec, ...expected });
  });

  it('removes a field that is null', () => {
    expect(merged({ nodeSelector: null })).not.toHaveProperty('nodeSelector');
  });

  it('keeps patches in order, apart from later changes of the value given, and leaves the template alone', () => {
    const patch = { nodeSelector: { zone: 'z' } };
    const override = new PodOverride()
      .merge(patch)
      .merge({ nodeSelector: { zone: 'y' } })
      .addLabel('team', 't')
      .addAnnotation('x', '2');
    patch.nodeSelector.zone = 'changed';
    const before = structuredClone(base);
    expect(override.apply(base)).toEqual({
      metadata: { labels: { app: 'a', team: 't' }, annotations: { x: '2' } },
      spec: { ...base.spec, nodeSelector: { pool: 'a', zone: 'y' } },
    });
    expect(base).toEqual(before);
  });
});

describe('fields of a pod on their way into a Deployment', () => {
  /** Fields that the 1.28 types do not have. */
  const newer = {
    resources: { limits: { cpu: '4' } },
    securityContext: { appArmorProfile: { type: 'RuntimeDefault' }, supplementalGroupsPolicy: 'Strict' },
    volumes: [{ name: 'weights', image: { reference: 'registry.example.com/weights:1', pullPolicy: 'IfNotPresent' } }],
    initContainers: [{ name: 'agent', image: 'agent:1', restartPolicy: 'Always' }],
  };

  it('are all there, the newer ones too', () => {
    const chart = new Chart(Testing.app(), 'c');
    const group = new ServingGroup(chart, 'g', {
      source: ModelSource.huggingFace('a/b'),
      engine: Engine.vllm('0.32.0'),
      accelerator: Accelerator.L4_24GB,
    });
    group.pod.merge(newer);
    const { spec } = (synth(chart).get('Deployment', 'g').spec as { readonly template: PodTemplate }).template;
    expect(spec).toMatchObject({ ...newer, volumes: expect.arrayContaining(newer.volumes) });
  });

  it('of the typed template are all written: none is lost between its type and its JSON', () => {
    const text = 'text';
    const everyContainerField: Required<
      Omit<k8s.Container, 'lifecycle' | 'livenessProbe' | 'startupProbe' | 'resizePolicy' | 'restartPolicy'>
    > = {
      name: text,
      image: text,
      command: [text],
      args: [text],
      workingDir: text,
      env: [{ name: text, value: text }],
      envFrom: [{ configMapRef: { name: text, optional: true }, prefix: text }],
      imagePullPolicy: text,
      ports: [{ containerPort: 1, hostIp: text, hostPort: 2, name: text, protocol: text }],
      readinessProbe: {
        httpGet: {
          path: text,
          port: k8s.IntOrString.fromString(text),
          host: text,
          scheme: text,
          httpHeaders: [{ name: text, value: text }],
        },
        periodSeconds: 1,
      },
      resources: {
        limits: { 'nvidia.com/gpu': k8s.Quantity.fromNumber(1) },
        requests: { cpu: k8s.Quantity.fromString('500m') },
        claims: [{ name: text }],
      },
      securityContext: {
        allowPrivilegeEscalation: false,
        capabilities: { add: [text], drop: [text] },
        readOnlyRootFilesystem: true,
        seccompProfile: { type: text, localhostProfile: text },
      },
      stdin: true,
      stdinOnce: true,
      terminationMessagePath: text,
      terminationMessagePolicy: text,
      tty: true,
      volumeDevices: [{ name: text, devicePath: text }],
      volumeMounts: [{ name: text, mountPath: text, mountPropagation: text, readOnly: true, subPath: text, subPathExpr: text }],
    };
    const json = k8s.toJson_PodTemplateSpec({ spec: { containers: [everyContainerField] } }) as {
      spec: { containers: [Record<string, unknown>] };
    };
    const [container] = json.spec.containers;
    expect(Object.keys(container).sort()).toEqual(Object.keys(everyContainerField).sort());
    expect(container.resources).toEqual({ limits: { 'nvidia.com/gpu': 1 }, requests: { cpu: '500m' }, claims: [{ name: text }] });
    expect(container.ports).toEqual([{ containerPort: 1, hostIP: text, hostPort: 2, name: text, protocol: text }]);
    expect(container.readinessProbe).toMatchObject({ httpGet: { port: text, httpHeaders: [{ name: text, value: text }] } });
  });
});
