import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Chart, JsonPatch } from 'cdk8s';
import {
  Cluster,
  FindingsError,
  GitOpsApp,
  KthenaManifests,
  type KthenaManifestsProps,
  type KthenaPresence,
} from '../../constructs';
import { canonicalize } from '../../constructs/gitops/canonical-object';
import { SYNC_WAVE } from '../../constructs/gitops/sync-wave';
import { type AnyObject, type Definition, synth } from '../../constructs/testing';
import { structuralProblems } from '../../constructs/testing/structural-schema';
import { decodeKind, decodeObject } from '../../src/api/decode-object';
import { apiKindOf } from '../../src/api/kinds';
import { findingLine } from '../../src/errors';
import { boosterChildren, expandModelBooster } from '../../src/expand';
import { Annotations } from '../../src/labels';
import { readManifests } from '../../src/read-manifests';
import { coreObjectProblems } from '../helpers/core-object-problems';
import { FIXTURES } from '../helpers/example-objects';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
const EXAMPLES = join(FIXTURES, 'kthena-examples');
const examples = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.ya?ml$/.test(file))
  .sort();

/** Definitions of Kthena, Gateway API, Prometheus and others, by group and kind. */
const definitions = new Map(
  readdirSync(join(FIXTURES, 'crds'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => readManifests(readFileSync(join(FIXTURES, 'crds', file), 'utf8'), file).objects)
    .map(({ object }) => object as unknown as Definition)
    .filter(({ spec }) => spec?.names !== undefined)
    .map((definition) => [`${definition.spec.group}/${definition.spec.names.kind}`, definition] as const),
);

function problemsOf(object: AnyObject): readonly string[] {
  const definition = definitions.get(`${object.apiVersion.split('/')[0]}/${object.kind}`);
  if (definition !== undefined) return structuralProblems(definition, object);
  return coreObjectProblems(object).filter((problem) => !problem.endsWith('is no core kind'));
}

function stackOf(props: KthenaManifestsProps, kthena: KthenaPresence = 'both', namespace?: string) {
  const app = new GitOpsApp({ cluster: Cluster.of({ kthena }), outdir: temporaryFolder(), report: () => undefined });
  const chart = new Chart(app, 'llm', namespace === undefined ? {} : { namespace });
  return { app, chart, manifests: new KthenaManifests(chart, 'kthena', props) };
}

/** A manifest in the form in which synth writes it: null is no field, quantities and ports are canonical. */
function asWritten(object: object): unknown {
  return canonicalize(withoutNulls(object) as object);
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([key, field]) => [key, withoutNulls(field)]),
  );
}

/** What a stack adds to every object: the wave, and what keeps claims and definitions when Git drops them. */
function withoutGitOps(object: AnyObject): unknown {
  const { annotations = {}, ...metadata } = object.metadata;
  const own = Object.entries(annotations).filter(
    ([key]) => ![SYNC_WAVE, Annotations.passedOn].includes(key) && !key.startsWith('argocd.argoproj.io/'),
  );
  return { ...object, metadata: { ...metadata, ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }) } };
}

describe("Kthena's own YAML", () => {
  it('is all of its examples', () => {
    expect(examples.length).toBeGreaterThanOrEqual(50);
    expect(definitions.size).toBeGreaterThan(10);
  });

  it.each(examples)('%s goes through with every field, and comes out valid', (file) => {
    const path = join(EXAMPLES, file);
    const input = readManifests(readFileSync(path, 'utf8'), file).objects.map(({ object }) => object);
    const expected = input.flatMap((object) => {
      if (object.kind !== 'ModelBooster') return [object];
      const booster = decodeKind('ModelBooster', object);
      const expansion = booster.kind === 'valid' ? expandModelBooster(booster.value) : undefined;
      return expansion?.kind === 'expanded' ? boosterChildren(expansion) : [];
    });
    const output = synth(stackOf({ files: [path] }).app).all;
    expect(output.map(withoutGitOps)).toEqual(expected.map(asWritten));
    for (const object of output) {
      expect(problemsOf(object)).toEqual([]);
      if (apiKindOf(object) !== undefined) expect(decodeObject(object).findings.map(findingLine)).toEqual([]);
    }
  });
});

const text = `
apiVersion: v1
kind: List
items:
- apiVersion: networking.serving.volcano.sh/v1alpha1
  kind: ModelServer
  metadata: { name: a, annotations: { team: x } }
  spec:
    inferenceEngine: SGLang
    workloadSelector: { matchLabels: { app: a } }
    workloadPort: { port: 30000 }
---
# Nothing but a comment.
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: reader }
rules: []
---
apiVersion: v1
kind: Pod
metadata: { name: newer, labels: { app: a } }
spec:
  resources: { limits: { cpu: 2 } }
  containers:
  - { name: c, image: "c:1.0.0", restartPolicyRules: [{ action: Restart }], securityContext: { appArmorProfile: { type: RuntimeDefault } } }
  volumes:
  - { name: image, image: { reference: "i:1.0.0", pullPolicy: IfNotPresent } }
  - name: script
    configMap: { name: script, defaultMode: 0755 }
---
`;

const booster = (backend: object = {}) => ({
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'ModelBooster',
  metadata: { name: 'qwen' },
  spec: {
    backend: {
      name: 'b',
      type: 'vLLM',
      modelURI: 'hf://Qwen/Qwen3-8B',
      cacheURI: 'pvc://weights',
      replicas: 2,
      workers: [
        { type: 'server', image: 'vllm/vllm-openai:v0.32.0', replicas: 1, pods: 1, config: { 'served-model-name': 'q' } },
      ],
      ...backend,
    },
  },
});

describe('KthenaManifests', () => {
  it('reads as kubectl does: lists, empty documents, octal modes, fields newer than the typed classes', () => {
    const objects = synth(stackOf({ text }).chart);
    expect(objects.get('ModelServer', 'a').metadata.annotations).toEqual({ team: 'x' });
    expect(objects.get('Pod', 'newer').spec).toEqual({
      resources: { limits: { cpu: '2' } },
      containers: [
        {
          name: 'c',
          image: 'c:1.0.0',
          restartPolicyRules: [{ action: 'Restart' }],
          securityContext: { appArmorProfile: { type: 'RuntimeDefault' } },
        },
      ],
      volumes: [
        { name: 'image', image: { reference: 'i:1.0.0', pullPolicy: 'IfNotPresent' } },
        { name: 'script', configMap: { name: 'script', defaultMode: 0o755 } },
      ],
    });
  });

  it('puts objects without a namespace into that of the chart, and leaves out those that live in none', () => {
    const objects = synth(stackOf({ text }, 'both', 'llm').chart);
    expect(objects.get('ModelServer', 'a').metadata.namespace).toBe('llm');
    expect(objects.get('ClusterRole', 'reader').metadata.namespace).toBeUndefined();
  });

  it('finds objects by kind and name, as instances of their classes', () => {
    const { chart, manifests } = stackOf({ text, objects: [booster()] });
    expect(manifests.modelServers.map(({ name }) => name)).toEqual(['a', 'qwen-b']);
    expect(manifests.routes.map(({ name }) => name)).toEqual(['qwen']);
    expect(manifests.get('ModelServing', 'qwen-b').constructor.name).toBe('KubeModelServing');
    manifests.get('ModelServer', 'a').addJsonPatch(JsonPatch.replace('/spec/workloadPort/port', 31_000));
    expect(synth(chart).get('ModelServer', 'a').spec.workloadPort.port).toBe(31_000);
    expect(() => manifests.get('ModelServer', 'b')).toThrow(
      /llm\/kthena: there is no ModelServer b; use one of ModelServer a, .*\[kthena\/no-object\]/,
    );
  });

  it('makes of a ModelBooster what its controller makes, with the images given', () => {
    const { chart } = stackOf({ objects: [booster()], images: { runtime: 'registry.example.com/runtime:1.0.0' } });
    const objects = synth(chart);
    expect(objects.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'ModelServing qwen-b',
      'ModelServer qwen-b',
      'ModelRoute qwen',
    ]);
    const [role] = objects.get('ModelServing', 'qwen-b').spec.template.roles;
    expect(role!.entryTemplate.spec!.containers.map(({ image }) => image)).toEqual([
      'registry.example.com/runtime:1.0.0',
      'vllm/vllm-openai:v0.32.0',
    ]);
  });

  it("keeps a ModelBooster for Kthena's controller when told so", () => {
    const { chart } = stackOf({ objects: [booster()], modelBoosters: 'keep' });
    expect(synth(chart).all).toEqual([asWritten(booster())]);
  });

  it('reads a folder at any depth, in order of names, and files only once', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'b'));
    const config = (name: string) => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"null"}}`;
    writeFileSync(join(folder, 'c.json'), config('c'));
    writeFileSync(join(folder, 'b/x.yml'), config('x'));
    writeFileSync(join(folder, 'a.yaml'), config('a'));
    writeFileSync(join(folder, 'readme.md'), 'no manifest');
    const { manifests } = stackOf({ files: [join(folder, 'c.json')], folder });
    expect(manifests.objects.map(({ name }) => name)).toEqual(['c', 'a', 'x']);
  });

  it('needs something to read', () => {
    expect(() => stackOf({})).toThrow(/llm\/kthena: has nothing to read; give files.*\[kthena\/nothing-given\]/);
  });
});

function linesOf({ app }: ReturnType<typeof stackOf>, severity: 'error' | 'warning'): readonly string[] {
  return app
    .check()
    .open.filter((finding) => finding.severity === severity)
    .map(findingLine);
}

const route = `
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: { name: r }
spec: { modelName: m, rules: [{ targetModels: [{ modelServerName: elsewhere }] }] }
`;

describe('what is wrong with manifests', () => {
  it.each<[string, KthenaManifestsProps, RegExp]>([
    [
      'a missing file',
      { files: ['no/such.yaml'] },
      /^no\/such\.yaml: llm\/kthena: there is no such file or folder; .*unreadable\]$/,
    ],
    ['malformed YAML', { text: 'kind: [' }, /^text:1: .*malformed YAML.*manifest\/malformed\]$/],
    [
      'an unknown field',
      { text: route.replace('modelName', 'modelNam') },
      /ModelRoute.r \(ModelRoute default\/r\): spec\.modelNam: unknown field/,
    ],
    ['an unknown field of a booster', { objects: [booster({ typo: 1 })] }, /spec\.backend\.typo: unknown field "typo"/],
    [
      'a booster of which no pod can come',
      { objects: [booster({ cacheURI: undefined })] },
      /cacheURI: ModelBooster default\/qwen: is missing/,
    ],
  ])('%s is an error', (_, props, line) => {
    const stack = stackOf(props);
    expect(linesOf(stack, 'error')).toEqual([expect.stringMatching(line)]);
    expect(() => stack.app.synth()).toThrow(FindingsError);
  });

  it('a name that the stack does not have is a warning, since the cluster may', () => {
    const stack = stackOf({ text: route });
    expect(linesOf(stack, 'warning')).toEqual([expect.stringContaining('there is no ModelServer "elsewhere"')]);
    expect(linesOf(stack, 'error')).toEqual([]);
  });

  it('a dump of a running object is a warning', () => {
    const stack = stackOf({ text: `${text.replace('{ name: a,', '{ name: a, uid: x, resourceVersion: "1",')}` });
    expect(linesOf(stack, 'warning')).toContainEqual(
      expect.stringMatching(/^text:5: .*metadata\.uid: ModelServer default\/a: is set by the API server \(2 such fields\)/),
    );
  });

  it("a ModelServing is a warning, and a kept ModelBooster an error, where Kthena's workload controller is not", () => {
    const cascaded = stackOf({ objects: [booster()] }, 'networking');
    expect(linesOf(cascaded, 'warning')).toContainEqual(expect.stringContaining('[cluster/no-model-serving]'));
    expect(linesOf(cascaded, 'error')).toEqual([]);
    const kept = stackOf({ objects: [booster()], modelBoosters: 'keep' }, 'absent');
    expect(linesOf(kept, 'error')).toEqual([expect.stringContaining('[cluster/no-model-booster]')]);
  });

  it('is told of an example under the path of its file', () => {
    const file = join(EXAMPLES, 'model-booster/Qwen2.5-Coder-32B-Instruct.yaml');
    const lines = linesOf(stackOf({ files: [relative(process.cwd(), file)] }), 'warning');
    expect(lines).toContainEqual(expect.stringMatching(/^test\/fixtures\/.*32B-Instruct\.yaml:1: .*served-name\]$/));
  });
});
