import type { ChosenPool } from './choose-pool';

/** What a new project is about. */
export interface ProjectOptions {
  /** Name of the package and of the output folder's project. */
  readonly name: string;
  /** Hub name of the model. */
  readonly model: string;
  /** Name of the model's objects, and what clients ask for. */
  readonly servedName: string;
  readonly engineVersion: string;
  readonly pool: ChosenPool;
  /** Version of this package. */
  readonly version: string;
}

/** Every file of a new project, by its path. Pure. */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'main.ts': mainFile(options),
    'main.test.ts': TEST_FILE,
    'cdk8s.yaml': 'language: typescript\napp: npx tsx main.ts\n',
    'package.json': packageFile(options),
    'tsconfig.json': TSCONFIG_FILE,
    'jest.config.js': JEST_FILE,
    '.gitignore': 'node_modules/\n',
    '.github/workflows/manifests.yml': WORKFLOW_FILE,
  };
}

function mainFile({ model, servedName, engineVersion, pool, version }: ProjectOptions): string {
  return `import { Chart } from 'cdk8s';
import { Accelerator, between, Cluster, Engine, GitOpsApp, InferencePlatform, Metric, ModelBooster, ModelSource, NodeLabels } from 'kvasir';

export const app = new GitOpsApp({
  folder: 'prod',
  cluster: Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia() }), // what your cluster is
  images: { registry: 'registry.example.com/kvasir', tag: '${version}' }, // where you pushed kvasir-router and kvasir-autoscaler
});

export const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

export const models = new Chart(app, 'models', { namespace: 'llm' });
export const model = new ModelBooster(models, '${servedName}', {
  // revision: the full commit id keeps the model as it is; token: SecretRef.existing('hf', 'token') for gated ones.
  source: ModelSource.huggingFace('${model}'),
  engine: Engine.vllm('${engineVersion}', { maxModelLen: ${grouped(pool.maxModelLen)} }),
  pools: {
    main: { accelerator: Accelerator.named('${pool.accelerator}'), gpusPerPod: ${pool.gpus}, replicas: between(1, 2) },
  },
  scaleOn: [Metric.runningRequests(16)],
});

if (require.main === module) app.synth();
`;
}

function packageFile({ name, version }: ProjectOptions): string {
  const manifest = {
    name,
    private: true,
    scripts: {
      synth: 'kvasir synth',
      test: 'jest',
      preview: 'kvasir preview dist',
      diff: 'kvasir diff dist',
      build: 'tsc --noEmit',
    },
    dependencies: { cdk8s: '^2.70.0', 'cdk8s-plus-28': '^2.5.6', constructs: '^10.4.0', kvasir: `^${version}` },
    devDependencies: {
      '@swc/core': '^1.16.22',
      '@swc/jest': '^0.2.39',
      '@types/jest': '^30.0.0',
      '@types/node': '^20.19.43',
      'cdk8s-cli': '^2.200.0',
      jest: '^30.5.2',
      tsx: '^4.23.15',
      typescript: '^5.9.0',
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The module that the test imports: the stack. */
const STACK_MODULE = './main';

const TEST_FILE = `import { matchers, snapshotSerializer, synth } from 'kvasir/testing';
import { app, models } from '${STACK_MODULE}';

expect.extend(matchers);
expect.addSnapshotSerializer(snapshotSerializer);

test('what the models chart makes', () => {
  expect(synth(models)).toMatchSnapshot();
});

test('the models cost at most what was agreed', () => {
  expect(app).toCostAtMost(100);
});

test('routes and policies are what the cluster accepts', () => {
  expect(synth(models)).toBeValidFor('ModelRoute');
  expect(synth(models)).toBeValidFor('AutoscalingPolicy');
});
`;

/** The stock cdk8s template's; newer compilers must also be told which global types there are. */
const TSCONFIG_FILE = `{
  "compilerOptions": {
    "declaration": true,
    "experimentalDecorators": true,
    "inlineSourceMap": true,
    "inlineSources": true,
    "lib": ["es2016"],
    "module": "CommonJS",
    "noEmitOnError": true,
    "noFallthroughCasesInSwitch": true,
    "noImplicitAny": true,
    "noImplicitReturns": true,
    "noImplicitThis": true,
    "noUnusedLocals": true,
    "noUnusedParameters": true,
    "resolveJsonModule": true,
    "strict": true,
    "strictNullChecks": true,
    "strictPropertyInitialization": true,
    "stripInternal": true,
    "target": "ES2017",
    "skipLibCheck": true,
    "types": ["node", "jest"]
  },
  "include": ["**/*.ts"],
  "exclude": ["node_modules"]
}
`;

const JEST_FILE = `module.exports = {
  testEnvironment: 'node',
  testMatch: ['**/*.test.ts'],
  transform: { '^.+\\\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }] },
};
`;

const WORKFLOW_FILE = `# Manifests are made here and committed in dist/, which Argo CD or Flux syncs. A change of the stack whose manifests are not
# committed with it fails.
name: manifests
on:
  pull_request:
  push:
    branches: [main]
jobs:
  manifests:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-node@v4
        with:
          node-version: 22
          cache: npm
      - run: npm ci
      - run: npm run build
      - run: npm test -- --ci
      - run: npx kvasir synth
      - run: npx kvasir validate --strict dist
      - name: what this changes in the cluster
        if: github.event_name == 'pull_request'
        run: npx kvasir diff dist "origin/\${{ github.base_ref }}" || [ $? -eq 1 ]
      - name: the committed manifests are what the stack makes
        run: git add --intent-to-add dist && git diff --exit-code -- dist
`;

/** Digits as TypeScript groups them. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '_');
}
