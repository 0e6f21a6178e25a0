import { Engine } from '../../constructs';
import type { LaunchRequest } from '../../constructs/engine/engine-spec';

const request: LaunchRequest = { model: 'a/b', servedModelName: 'b', tensorParallel: 1, pipelineParallel: 1, drainSeconds: 60 };

describe('Engine.vllm', () => {
  it.each([
    [
      'every typed flag',
      {
        maxNumSeqs: 64,
        maxNumBatchedTokens: 8192,
        gpuMemoryUtilization: 0.9,
        blockSize: 32,
        dtype: 'bfloat16',
        kvCacheDtype: 'fp8',
        quantization: 'fp8',
        toolCallParser: 'hermes',
        reasoningParser: 'qwen3',
        trustRemoteCode: true,
        enablePrefixCaching: true,
        maxModelLen: 1000,
      } as const,
    ],
    ['switches that are off', { enablePrefixCaching: false, trustRemoteCode: false }],
    [
      'aliases, dotted names and underscores',
      { extraArgs: ['-tp', '2', '--compilation-config.level=3', '--max_num_seqs', '8', '--no-enable-chunked-prefill'] },
    ],
  ])('writes and knows %s', (_, options) => {
    const engine = Engine.vllm('0.32.0', options);
    expect(engine.check(engine.launch(request))).toEqual([]);
  });

  it('writes words, none of them for a shell', () => {
    const { command, args } = Engine.vllm('v0.32.0', { maxModelLen: 1000, enablePrefixCaching: false }).launch({
      ...request,
      revision: 'r; rm -rf /',
      tensorParallel: 4,
    });
    expect(command).toEqual(['vllm', 'serve']);
    expect(args.join(' ')).toBe(
      'a/b --served-model-name b --host 0.0.0.0 --port 8000 --revision r; rm -rf / --tensor-parallel-size 4 --max-model-len 1000 --no-enable-prefix-caching --enable-prompt-tokens-details --enable-request-id-headers --shutdown-timeout 60',
    );
    expect(args).toContain('r; rm -rf /');
  });

  it('names the gauges of its version', () => {
    expect(Engine.vllm('0.8.5').metrics.kvCacheUsage).toBe('vllm:gpu_cache_usage_perc');
    expect(Engine.vllm('0.32.0').metrics.kvCacheUsage).toBe('vllm:kv_cache_usage_perc');
  });

  it('has the published image of its version, or the given one', () => {
    expect(Engine.vllm('0.32.0').image).toBe('vllm/vllm-openai:v0.32.0');
    expect(Engine.vllm('0.32.0', { image: 'own:1' }).image).toBe('own:1');
  });

  it.each(['latest', '', 'nightly-1'])('refuses the version %j, whose flags nobody knows', (version) => {
    expect(() => Engine.vllm(version)).toThrow(/write a release/);
  });
});

describe('Engine.sglang', () => {
  it('writes only flags that it knows', () => {
    const engine = Engine.sglang('0.5.23', {
      maxModelLen: 1000,
      maxRunningRequests: 8,
      chunkedPrefillSize: 512,
      memFractionStatic: 0.8,
      pageSize: 16,
      dtype: 'bfloat16',
      kvCacheDtype: 'fp8_e5m2',
      quantization: 'fp8',
      toolCallParser: 'qwen',
      reasoningParser: 'qwen3',
      trustRemoteCode: true,
    });
    const launch = engine.launch({ ...request, tensorParallel: 2, pipelineParallel: 2, revision: 'r' });
    expect(engine.check(launch)).toEqual([]);
    expect(launch.command).toEqual(['python3', '-m', 'sglang.launch_server']);
    expect(launch.args).toEqual(expect.arrayContaining(['--enable-metrics', '--enable-cache-report', '--tp-size', '--pp-size']));
  });
});

describe('Engine.custom', () => {
  it('fills in the model, the name and the split, inside each word', () => {
    const engine = Engine.custom({
      image: 'i:1',
      port: 1,
      argv: ['run', '{model}', '--as={name}', '--tp', '{tensorParallel}', '{other}'],
    });
    expect(engine.launch({ ...request, tensorParallel: 8 })).toEqual({ args: ['run', 'a/b', '--as=b', '--tp', '8', '{other}'] });
    expect(engine).toMatchObject({ apiName: 'vLLM', healthPath: '/health', metricsPath: '/metrics', finishesStreams: false });
  });
});
