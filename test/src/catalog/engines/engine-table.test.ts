import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  compareVersions,
  ENGINES,
  type EngineName,
  engineOfApiName,
  engineTable,
  findFlag,
  nearestFlag,
  newestVersion,
} from '../../../../src/catalog';

const fixtures = join(__dirname, '../../../fixtures/engines');
const read = (path: string) => JSON.parse(readFileSync(join(fixtures, path), 'utf8'));
const recorded = readdirSync(fixtures)
  .map((folder) => /^(vllm|sglang)-(.+)$/.exec(folder))
  .filter((match) => match !== null)
  .map(([folder, engine, version]) => ({ folder: folder!, engine: engine as EngineName, version: version! }));

describe.each(recorded)('the table of $folder', ({ folder, engine, version }) => {
  const table = engineTable(engine, version);

  it('is exact', () => {
    expect(table).toMatchObject({ version, isExact: true });
  });

  it('holds the recorded flags, no more and no fewer', () => {
    const flags = [...table.flags.values()].map((flag) => ({
      name: flag.name,
      aliases: flag.aliases,
      kind: flag.kind,
      ...(flag.choices === undefined ? {} : { choices: flag.choices }),
      default: flag.defaultValue ?? null,
    }));
    expect(flags).toEqual(read(`${folder}/flags.json`));
  });

  it('names metrics that the recording has, with their types', () => {
    const families: Record<string, { type: string }> = read(`${folder}/metrics-names.json`);
    const concepts = Object.values(table.metrics);
    expect(concepts.length).toBe(Object.keys(table.engine.metrics).length);
    for (const { name, type } of concepts) expect([name, families[name]?.type]).toEqual([name, type]);
  });

  it.each(readdirSync(join(fixtures, folder)).filter((file) => file.startsWith('metrics-names')))(
    'names the capacity and the work of an engine in every role: %s',
    (file) => {
      const families: Record<string, unknown> = read(`${folder}/${file}`);
      for (const concept of ['kvCapacity', 'promptTokens'] as const)
        expect(families).toHaveProperty([table.metrics[concept]!.name]);
    },
  );

  it('lists labels of the KV capacity where the engine tells it in labels', () => {
    const families: Record<string, { labels: string[] }> = read(`${folder}/metrics-names.json`);
    const { name } = table.metrics.kvCapacity!;
    if (name.endsWith('_info')) expect(families[name]!.labels).toEqual(expect.arrayContaining(['block_size', 'num_gpu_blocks']));
  });
});

describe('a version without a table of its own', () => {
  it.each([
    ['vllm', '0.33.1', '0.32.0'],
    ['vllm', 'v0.25.1', '0.20.2'],
    ['vllm', '0.10.0', '0.20.2'],
    ['vllm', 'latest', '0.32.0'],
    ['sglang', '0.6.0', '0.5.23'],
  ] as const)('%s %s takes the nearest older table, or the oldest: %s', (engine, version, used) => {
    expect(engineTable(engine, version)).toMatchObject({ version: used, isExact: false });
  });

  it.each([
    ['0.8.5', 'kvUsage', 'vllm:gpu_cache_usage_perc'],
    ['0.10.0', 'kvUsage', 'vllm:kv_cache_usage_perc'],
    ['0.10.0', 'interTokenLatency', 'vllm:time_per_output_token_seconds'],
    ['0.11.0', 'interTokenLatency', 'vllm:inter_token_latency_seconds'],
    ['latest', 'prefixCacheHits', 'vllm:prefix_cache_hits_total'],
  ] as const)('vLLM %s exports %s as %s', (version, concept, name) => {
    expect(engineTable('vllm', version).metrics[concept]?.name).toBe(name);
  });
});

describe('findFlag', () => {
  const { flags } = engineTable('vllm', '0.32.0');

  it.each([
    ['--max-model-len', '--max-model-len', false],
    ['--max_model_len', '--max-model-len', false],
    ['-tp', '--tensor-parallel-size', false],
    ['--device-memory-utilization', '--gpu-memory-utilization', false],
    ['--no-enable-prefix-caching', '--enable-prefix-caching', true],
    ['--compilation-config.mode', '--compilation-config', false],
  ])('reads %s as %s (negated: %s)', (written, name, isNegated) => {
    expect(findFlag(flags, written)).toEqual({ flag: flags.get(name), isNegated });
  });

  it.each(['--max-model-length', '--no-max-model-len', '-x', 'model'])('does not know %s', (written) => {
    expect(findFlag(flags, written)).toBeUndefined();
  });
});

describe('nearestFlag', () => {
  it.each([
    ['vllm', '--max-model-length', '--max-model-len'],
    ['vllm', '--enable-prefix-cache', '--enable-prefix-caching'],
    ['vllm', '--tensor_parallel_sise=2', '--tensor-parallel-size'],
    ['sglang', '--max-runing-requests', '--max-running-requests'],
  ] as const)('%s: %s was meant as %s', (engine, typed, meant) => {
    expect(nearestFlag(engineTable(engine, 'latest').flags, typed)?.name).toBe(meant);
  });

  it('names nothing when nothing is near', () => {
    expect(nearestFlag(engineTable('vllm', 'latest').flags, '--frobnicate-everything')).toBeUndefined();
  });
});

describe('engines', () => {
  it('are found by the name that ModelServers use', () => {
    expect(engineOfApiName('SGLang')).toBe(ENGINES.sglang);
    expect(engineOfApiName('vLLM')).toBe(ENGINES.vllm);
  });

  it('list recordings oldest first', () => {
    for (const { name, recordings } of Object.values(ENGINES)) {
      expect(recordings.map(({ version }) => version)).toEqual(
        recordings.map(({ version }) => version).toSorted(compareVersions),
      );
      expect(newestVersion(name)).toBe(recordings.at(-1)?.version);
    }
  });
});
