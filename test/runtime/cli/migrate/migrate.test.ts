import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { canonicalize } from '../../../../constructs/gitops/canonical-object';
import { readFolders } from '../../../../runtime/cli/manifests/read-folders';
import { withoutNulls } from '../../../../runtime/cli/migrate/json';
import { migrate } from '../../../../runtime/cli/migrate/migrate';
import { decodeKind, decodeObject } from '../../../../src/api/decode-object';
import { apiKindOf } from '../../../../src/api/kinds';
import type { KubeObject } from '../../../../src/api/meta';
import { boosterChildren, expandModelBooster } from '../../../../src/expand';
import { Annotations } from '../../../../src/labels';
import { readManifests } from '../../../../src/read-manifests';
import { FIXTURES } from '../../../helpers/example-objects';
import { filesUnder, temporaryFolders } from '../../../helpers/temporary-folder';

const run = promisify(execFile);
const root = join(__dirname, '../../../..');
const temporaryFolder = temporaryFolders();

/** A user's project around a program, with this repository as the package. */
function projectOf(program: string): string {
  const folder = temporaryFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'main.ts'), program);
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        rootDir: '/',
        typeRoots: [join(root, 'node_modules/@types')],
        paths: { kvasir: [join(root, 'constructs/index.ts')] },
      },
      include: ['main.ts'],
    }),
  );
  return folder;
}

/** An object as the API server would store it, without what constructs and GitOps output add. */
function stored(object: KubeObject): unknown {
  const decoded = apiKindOf(object) === undefined ? undefined : decodeObject(object);
  const value = decoded?.kind === 'valid' ? decoded.value : object;
  const { labels = {}, annotations = {}, ...metadata } = value.metadata;
  const added = new Set(['app.kubernetes.io/managed-by', 'kvasir.dev/class']);
  const kept = (map: object, isAdded: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(map).filter(([key]) => !isAdded(key)));
  const plain = {
    ...value,
    metadata: {
      ...metadata,
      labels: kept(labels, (key) => added.has(key) && apiKindOf(object) !== undefined),
      annotations: kept(annotations, (key) => key.startsWith('argocd.argoproj.io/')),
    },
  };
  // Decoded values are frozen, and canonicalize writes.
  return canonicalize(JSON.parse(JSON.stringify(withoutNulls(plain))));
}

const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

function cascaded(object: KubeObject): readonly KubeObject[] {
  const booster = apiKindOf(object) === 'ModelBooster' ? decodeKind('ModelBooster', object) : undefined;
  if (booster?.kind !== 'valid') return [object];
  const expansion = expandModelBooster(booster.value);
  return expansion.kind === 'expanded' ? boosterChildren(expansion) : [];
}

function withoutAcknowledgements(object: KubeObject): KubeObject {
  const {
    [Annotations.acknowledged]: _acknowledged,
    [Annotations.passedOn]: _passedOn,
    ...annotations
  } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const byKey = (objects: readonly KubeObject[]) => Object.fromEntries(objects.map((object) => [keyOf(object), stored(object)]));

describe("a program for all of Kthena's examples", () => {
  it('compiles, runs, and makes the same objects', async () => {
    const { objects } = await readFolders([join(FIXTURES, 'kthena-examples')]);
    const migration = migrate(objects);
    const project = projectOf(migration.program!);
    const environment = { ...process.env, CDK8S_OUTDIR: join(project, 'out') };
    const [compiled, ran] = await Promise.allSettled([
      run(join(root, 'node_modules/.bin/tsc'), ['-p', project], { cwd: project }),
      run(process.execPath, ['--import', 'tsx', 'main.ts'], { cwd: project, env: environment }),
    ]);
    const failure = (outcome: PromiseSettledResult<unknown>) =>
      outcome.status === 'rejected' ? `${outcome.reason.stdout}${outcome.reason.stderr}` : '';
    expect([failure(compiled), failure(ran)]).toEqual(['', '']);

    const made = Object.values(filesUnder(join(project, 'out'))).flatMap((text) =>
      readManifests(text, 'out').objects.map(({ object }) => object),
    );
    const input = migration.objects.flatMap(({ manifest }) => cascaded(manifest.object));
    expect(input.length).toBeGreaterThan(80);
    // What the program acknowledges, and what names something that is not there, is written beside what it makes.
    expect(byKey(made.map(withoutAcknowledgements))).toEqual(byKey(input));
  }, 60_000);
});

/** The program of some manifests, without imports and app. */
function bodyOf(text: string): string {
  const { program } = migrate(readManifests(text, 'in.yaml').objects);
  return program!.split('\n\n').slice(2, -1).join('\n\n');
}

const SERVER = `
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: { name: qwen, namespace: llm }
spec:
  inferenceEngine: vLLM
  model: Qwen/Qwen3-8B
  workloadSelector: { matchLabels: { app: qwen } }
  workloadPort: { port: 8000 }
  trafficPolicy: { timeout: 10s, retry: { attempts: 3 } }
`;
const route = (spec: string, metadata = 'name: qwen, namespace: llm') => `
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: { ${metadata} }
spec: ${spec}
`;

describe('what is printed for', () => {
  it('a route and its server: constructs, the server first and named by its variable', () => {
    const spec =
      '{ modelName: qwen, rules: [{ targetModels: [{ modelServerName: qwen }, { externalModelProviderName: far, weight: 0 }] }] }';
    expect(bodyOf(`${route(spec)}---${SERVER}`)).toBe(
      `
const llm = new Chart(app, 'llm', { namespace: 'llm' });

const qwen = new ModelServer(llm, 'qwen', {
  engine: 'vLLM',
  podLabels: { app: 'qwen' },
  port: 8000,
  model: 'Qwen/Qwen3-8B',
  traffic: { timeoutMs: 10000, retry: { attempts: 3 } },
});

const qwenModelRoute = new ModelRoute(llm, 'qwen-modelroute', {
  name: 'qwen',
  rules: [{ targets: [{ server: qwen }, { provider: 'far', weight: 0 }] }],
});
app.findings.acknowledge('routing/missing-provider', qwenModelRoute, 'as it was before the move to TypeScript');`.trim(),
    );
  });

  it('what Kvasir adds to routes: props of the construct', () => {
    const extended = `{ modelName: qwen, rules: [{ targetModels: [{ modelServerName: a }], shadow: { modelServerName: qwen, percent: 5 } }],
      sessionAffinity: { source: cookie, name: s, ttl: 30m } }`;
    expect(bodyOf(`${route(extended)}---${SERVER}`)).toContain(`
const qwenModelRoute = new ModelRoute(llm, 'qwen-modelroute', {
  name: 'qwen',
  rules: [{ targets: [{ server: 'a' }], shadow: { server: qwen, percent: 5 } }],
  stickySession: { source: 'cookie', name: 's', ttlMs: 1800000 },
});`);
  });

  it.each([
    ['labels of its own', route('{ modelName: m, rules: [] }', 'name: m, namespace: llm, labels: { team: a }')],
    ['no model name', route('{ loraAdapters: [a], rules: [] }', 'name: m, namespace: llm')],
    ['another parent', route('{ modelName: m, rules: [], parentRefs: [{ name: g, kind: Service }] }', 'name: m, namespace: llm')],
    [
      'limits of all routers without a Redis',
      route('{ modelName: m, rules: [], rateLimit: { inputTokensPerUnit: 1, global: {} } }', 'name: m'),
    ],
  ])('a route with %s: a single object, which can say it', (_, text) => {
    expect(bodyOf(text)).toContain('new KubeModelRoute(');
  });

  it.each([
    ['no traffic policy', /\n {2}trafficPolicy.*/, ''],
    ['a duration that is written in another way', 'timeout: 10s', 'timeout: 10000ms'],
    ['https', 'port: 8000', 'port: 8000, protocol: https'],
  ])('a server with %s: a single object', (_, from, to) => {
    expect(bodyOf(SERVER.replace(from, to))).toContain("new KubeModelServer(llm, 'qwen', {");
  });

  it('anything else: the object as it is', () => {
    expect(
      bodyOf('{ apiVersion: v1, kind: ConfigMap, metadata: { name: 7b, namespace: default }, data: { a: "x\\ny" }, b: null }'),
    ).toBe(
      `
const defaultChart = new Chart(app, 'default', { namespace: 'default' });

new ApiObject(defaultChart, '7b', {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: '7b' },
  data: {
    a: [
      'x',
      'y',
    ].join('\\n'),
  },
});`.trim(),
    );
  });
});

describe('migrate', () => {
  it('prints the same text for the same manifests', () => {
    const read = () => migrate(readManifests(`${route('{ modelName: m, rules: [] }')}---${SERVER}`, 'a.yaml').objects).program;
    expect(read()).toBe(read());
  });

  it('keeps the last of an object that is given twice, and says so', () => {
    const { program, findings } = migrate(readManifests(`${SERVER}---${SERVER.replace('8000', '9000')}`, 'a.yaml').objects);
    expect(program).toContain('port: 9000');
    expect(program).not.toContain('port: 8000');
    expect(findings).toMatchObject([
      { severity: 'warning', code: 'references/duplicate', file: 'a.yaml:2', message: expect.stringContaining('a.yaml:12') },
    ]);
  });

  it('leaves out what only a running object has', () => {
    const dump = SERVER.replace('namespace: llm', 'namespace: llm, uid: a, resourceVersion: "1", managedFields: []');
    expect(bodyOf(`${dump}status: {}`)).toBe(bodyOf(SERVER));
  });

  it('prints no program for an invalid object', () => {
    const { program, findings } = migrate(readManifests(SERVER.replace('vLLM', 'vllm'), 'a.yaml').objects);
    expect(program).toBeUndefined();
    expect(findings).toMatchObject([{ severity: 'error', file: 'a.yaml:2', field: 'spec.inferenceEngine' }]);
  });
});
