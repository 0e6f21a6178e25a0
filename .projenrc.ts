import { JsonFile, javascript, typescript } from 'projen';

/** Exact versions: each is known to run on Node 20 to 24. */
const project = new typescript.TypeScriptProject({
  name: 'kvasir',
  description: 'Typed constructs, router, autoscaler and laptop preview for large language models on Kubernetes',
  authorName: 'Kvasir authors',
  keywords: ['cdk8s', 'kubernetes', 'llm', 'inference', 'vllm', 'sglang', 'gitops', 'autoscaling', 'router'],
  defaultReleaseBranch: 'main',
  packageManager: javascript.NodePackageManager.NPM,
  minNodeVersion: '20.19.0',
  maxNodeVersion: '24.99.99',
  license: 'Apache-2.0',
  copyrightOwner: 'Kvasir authors',
  copyrightPeriod: '2026',

  srcdir: 'src',
  libdir: 'dist',
  testdir: 'test',
  entrypoint: 'dist/constructs/index.js',
  entrypointTypes: 'dist/constructs/index.d.ts',
  bin: { kvasir: 'bin/kvasir.js' },
  autoDetectBin: false,

  github: false,
  eslint: false,
  jest: false,
  release: false,
  package: false,
  buildWorkflow: false,
  depsUpgrade: false,
  pullRequestTemplate: false,
  npmignoreEnabled: false,
  sampleCode: false,
  readme: undefined,
  disableTsconfigDev: true,
  projenrcTs: true,
  projenrcTsOptions: { runner: typescript.TypeScriptRunner.tsx() },
  typescriptVersion: '7.0.2',
  projenVersion: '0.103.25',
  peerDependencyOptions: { pinnedDevDependency: false },

  peerDeps: ['cdk8s@^2.70.0', 'cdk8s-plus-28@^2.5.6', 'constructs@^10.4.0'],
  // What the constructs need at synth. Everything the images need is bundled by esbuild and stays a dev dependency.
  deps: ['@sinclair/typebox@0.34.52', 'ajv@8.20.0', 're2js@2.10.0', 'yaml@2.9.1'],
  devDeps: [
    '@anthropic-ai/sdk@1.14.0',
    '@biomejs/biome@2.6.8',
    '@huggingface/jinja@0.5.11',
    '@huggingface/tokenizers@0.2.0',
    '@kubernetes/client-node@1.4.0',
    '@opentelemetry/api@1.9.0',
    '@opentelemetry/core@2.12.1',
    '@opentelemetry/exporter-trace-otlp-http@0.223.1',
    '@opentelemetry/resources@2.12.1',
    '@opentelemetry/sdk-trace-base@2.12.1',
    '@swc/core@1.16.22',
    '@swc/jest@0.2.39',
    '@types/jest@30.0.0',
    '@types/node@20.19.43',
    'cdk8s@2.70.106',
    'cdk8s-plus-28@2.5.6',
    'commander@14.0.3',
    'constructs@10.8.1',
    'esbuild@0.28.2',
    'fast-check@4.11.0',
    'fastify@5.12.8',
    'hdr-histogram-js@3.0.1',
    'ioredis@6.0.0',
    'jest@30.5.2',
    'jose@6.2.18',
    'lru-cache@11.5.3',
    'openai@6.49.0',
    'pino@10.4.0',
    'prom-client@15.1.3',
    'tsx@4.23.15',
    'undici@7.30.2',
    'wabt@1.0.39',
    'xxhash-wasm@1.1.0',
  ],

  tsconfig: {
    include: ['src/**/*.ts', 'constructs/**/*.ts', 'runtime/**/*.ts', 'images/**/*.ts', 'examples/**/*.ts'],
    exclude: ['node_modules', 'dist'],
    compilerOptions: {
      rootDir: '.',
      outDir: 'dist',
      target: 'ES2022',
      lib: ['es2023'],
      module: 'node20',
      moduleResolution: javascript.TypeScriptModuleResolution.NODE16,
      declaration: true,
      sourceMap: false,
      inlineSourceMap: false,
      inlineSources: false,
      strict: true,
      noUncheckedIndexedAccess: true,
      noImplicitOverride: true,
      noPropertyAccessFromIndexSignature: false,
      skipLibCheck: true,
      types: ['node'],
    },
  },
});

project.tryRemoveFile('.gitattributes');
project.tryRemoveFile('projenrc/tsconfig.json');
for (const script of ['clobber', 'eject', 'package', 'watch', 'post-compile', 'pre-compile', 'default']) {
  project.package.removeScript(script);
}

// What users import. `typesVersions` serves module resolution that does not read `exports`, as the stock cdk8s template uses.
const entries = {
  '.': 'constructs/index',
  './api': 'src/index',
  './testing': 'constructs/testing/index',
  './simulator': 'runtime/simulator/index',
};
project.package.addField('version', '0.1.0');
project.package.addField('type', 'commonjs');
project.package.addField('exports', {
  ...Object.fromEntries(
    Object.entries(entries).map(([name, file]) => [
      name,
      // The simulator's libraries are no dependencies of the package: its bundle holds them.
      { types: `./dist/${file}.d.ts`, default: name === './simulator' ? './dist/simulator/index.js' : `./dist/${file}.js` },
    ]),
  ),
  './package.json': './package.json',
});
project.package.addField('typesVersions', {
  '*': Object.fromEntries(
    Object.entries(entries)
      .filter(([name]) => name !== '.')
      .map(([name, file]) => [name.slice(2), [`dist/${file}.d.ts`]]),
  ),
});
// The simulator's declarations name those of `runtime/lib`. The Dockerfiles and what they copy are there so that `docker build` takes the
// installed package as its context, and the images are of the same version as the constructs.
project.package.addField('files', [
  'bin',
  'dist/cli',
  'dist/constructs',
  'dist/examples',
  'dist/images/*/*',
  'dist/runtime/lib/**/*.d.ts',
  'dist/runtime/simulator/**/*.d.ts',
  'dist/simulator',
  'dist/src',
  'docs',
  'examples',
  'images/*/Dockerfile',
  'LICENSE',
  'README.md',
]);
project.package.addField('repository', undefined);

project.gitignore.exclude('/dist/', '/.bench/', '*.tsbuildinfo');

project.compileTask.reset('tsc -p tsconfig.json');
project.compileTask.exec('node dist/images/build.js');
project.testTask.reset('jest --ci', { receiveArgs: true });
project.addTask('typecheck', { description: 'Type-check sources, tests and examples', exec: 'tsc -p tsconfig.test.json' });
project.addTask('lint', { description: 'Check format and lint', exec: 'biome check --error-on-warnings .' });
project.addTask('format', { description: 'Format and mend what can be mended', exec: 'biome check --write .' });
// Against a real Kubernetes API: too long for each run of all tests. They wait more than they compute.
project.addTask('test:cluster', {
  description: 'Test against a Kubernetes control plane, which is built at its first use',
  exec: 'jest --ci --roots ./test/cluster --testPathIgnorePatterns /node_modules/ --maxWorkers=2',
  receiveArgs: true,
});
project.setScript('kvasir', 'node bin/kvasir.js');
project.setScript('demo', 'node bin/kvasir.js demo');
project.setScript('prepack', 'rm -rf dist && npm run compile');

new JsonFile(project, 'tsconfig.test.json', {
  marker: false,
  obj: {
    extends: './tsconfig.json',
    compilerOptions: {
      noEmit: true,
      types: ['node', 'jest'],
      paths: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name.replace('.', 'kvasir'), [`./${file}.ts`]])),
    },
    include: ['src', 'constructs', 'runtime', 'images', 'test', 'examples', '.projenrc.ts'],
  },
});

new JsonFile(project, 'jest.config.json', {
  marker: false,
  obj: {
    testEnvironment: 'node',
    testMatch: ['<rootDir>/test/**/*.test.ts'],
    transform: {
      '^.+\\.[cm]?[tj]s$': [
        '@swc/jest',
        { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
      ],
    },
    // Packages that ship ES modules only, which jest cannot require on Node 20, and one that imports Node's modules late.
    transformIgnorePatterns: [
      'node_modules/(?!(@kubernetes/client-node|@opentelemetry/otlp-exporter-base|openid-client|oauth4webapi|jose|cookie|fast-check|pure-rand|@huggingface/tokenizers|@huggingface/jinja|re2js)/)',
    ],
    moduleNameMapper: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [`^${name.replace('.', 'kvasir')}$`, `<rootDir>/${file}.ts`]),
    ),
    modulePathIgnorePatterns: ['<rootDir>/dist/'],
    testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/cluster/'],
    testTimeout: 30_000,
  },
});

new JsonFile(project, 'biome.json', {
  marker: false,
  obj: {
    $schema: './node_modules/@biomejs/biome/configuration_schema.json',
    files: {
      includes: ['**/*.ts', '**/*.js', '!dist', '!node_modules', '!test/fixtures', '!.projen'],
    },
    formatter: { indentStyle: 'space', indentWidth: 2, lineWidth: 130 },
    javascript: { formatter: { quoteStyle: 'single' } },
    // JSON files here are made by programs.
    json: { formatter: { enabled: false } },
    linter: {
      rules: {
        style: { noNonNullAssertion: 'off', noDefaultExport: 'error', useImportType: 'error', noParameterAssign: 'off' },
        suspicious: { noExplicitAny: 'error' },
        correctness: { noUnusedImports: 'error', noUnusedVariables: 'error' },
      },
    },
  },
});

project.synth();
