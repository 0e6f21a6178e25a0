import * as fc from 'fast-check';
import { ACCELERATORS, MODEL_SHAPES } from '../../../src/catalog';
import { checkObjects } from '../../../src/checks';
import { fitFindings } from '../../../src/checks/fit';
import type { FitQuestion } from '../../../src/checks/fit-question';

const LLAMA_8B = 'meta-llama/Llama-3.1-8B-Instruct';
const LLAMA_70B = 'meta-llama/Llama-3.3-70B-Instruct';
const LLAMA_405B = 'meta-llama/Llama-3.1-405B-Instruct';
const V3 = 'deepseek-ai/DeepSeek-V3';
const MIXTRAL = 'mistralai/Mixtral-8x7B-Instruct-v0.1';
const H100 = 'H100-SXM-80GB';
const A100 = 'A100-SXM-80GB';
const A100_40 = 'A100-SXM-40GB';

/** A Deployment whose pods run vLLM with these words. */
function deployment(model: string, accelerator: string, gpus: number, words: readonly string[]) {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'm', namespace: 'llm' },
    spec: {
      template: {
        metadata: { labels: { app: 'm' }, annotations: { 'kvasir.dev/accelerator': accelerator } },
        spec: {
          containers: [
            {
              name: 'engine',
              image: 'vllm/vllm-openai:v0.32.0',
              command: ['vllm', 'serve', model, ...words],
              resources: { limits: { 'nvidia.com/gpu': String(gpus) } },
            },
          ],
        },
      },
    },
  };
}

function found(model: string, accelerator: string, gpus: number, flags: string): readonly string[] {
  const words = flags.split(' ').filter((word) => word !== '');
  const isSplit = /-parallel-size/.test(flags);
  const all = isSplit || gpus === 1 ? words : [...words, '--tensor-parallel-size', String(gpus)];
  return checkObjects([{ object: deployment(model, accelerator, gpus, all) }])
    .filter(({ code }) => code.startsWith('fit/'))
    .map(({ code, severity }) => `${severity} ${code}`);
}

type Row = readonly [model: string, gpus: number, accelerator: string, flags: string, expected: readonly string[], why: string];

const FITS: readonly string[] = [];
const WEIGHTS = ['error fit/weights'];
const KV = ['error fit/kv-capacity'];
const TIGHT = ['warning fit/kv-capacity'];
const FORMAT = ['error fit/number-format'];
const UNPACKED = ['warning fit/number-format'];

/** Weights are the parameters of the hub's safetensors index, memory is what nvidia-smi shows; `why` adds who says so. */
const TABLE: readonly Row[] = [
  [LLAMA_70B, 1, H100, '--max-model-len 8192', WEIGHTS, '141 GB of bf16 on 80 GB'],
  [LLAMA_70B, 2, H100, '--max-model-len 8192', FITS, '70.6 GB on each of 80 GB'],
  [LLAMA_70B, 2, H100, '', KV, '131,072 tokens take 43 GB, vLLM refuses its own default context here'],
  [LLAMA_70B, 4, H100, '', FITS, 'llm-d benchmarks: 461,376 tokens of KV cache on 4 H100'],
  [LLAMA_70B, 1, 'H200-141GB', '--max-model-len 8192', WEIGHTS, '141 GB of weights leave nothing of 141 GB'],
  [LLAMA_70B, 2, 'H200-141GB', '', FITS, 'NVIDIA H200 brief: Llama 70B on two'],
  [LLAMA_70B, 1, 'MI300X-192GB', '--max-model-len 32768', FITS, 'AMD: a 70 B model in bf16 on one MI300X'],
  [LLAMA_70B, 1, 'MI300X-192GB', '', TIGHT, '43 GB of KV cache beside 141 GB: no reserve'],
  [LLAMA_70B, 1, 'B200-180GB', '--max-model-len 65536', FITS, '141 GB and 21 GB on 180 GB'],
  [LLAMA_70B, 4, A100, '--max-model-len 32768', FITS, '35 GB on each of 80 GB'],
  [LLAMA_70B, 8, A100_40, '--max-model-len 32768', FITS, '17.6 GB on each of 40 GB'],
  [LLAMA_70B, 4, A100_40, '--max-model-len 8192', TIGHT, '35.3 GB on each of 40 GB'],
  [LLAMA_70B, 8, 'L40S-48GB', '--max-model-len 32768', FITS, '17.6 GB on each of 45 GB'],
  ['RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic', 1, H100, '--max-model-len 8192', FITS, '71 GB of FP8 on 80 GB'],
  ['RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic', 1, H100, '--max-model-len 32768', KV, '10.7 GB of KV cache in 5 GB'],
  ['RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic', 2, A100, '--max-model-len 8192', UNPACKED, 'vLLM FP8 page: Ampere is W8A16'],
  [LLAMA_70B, 1, H100, '--quantization fp8 --max-model-len 8192', FITS, 'quantized while it loads: as the FP8 checkpoint'],
  ['casperhansen/llama-3.3-70b-instruct-awq', 1, A100, '--max-model-len 32768', FITS, '40 GB of INT4 on 80 GB'],
  ['casperhansen/llama-3.3-70b-instruct-awq', 1, 'L40S-48GB', '--max-model-len 8192', TIGHT, '40 GB on 45 GB'],
  ['casperhansen/llama-3.3-70b-instruct-awq', 1, 'L4-24GB', '', WEIGHTS, '40 GB on 24 GB'],
  [LLAMA_405B, 8, H100, '--max-model-len 8192', WEIGHTS, 'Meta: bf16 needs two nodes'],
  [LLAMA_405B, 16, H100, '--tensor-parallel-size 8 --pipeline-parallel-size 2 --max-model-len 32768', FITS, 'Meta: two nodes'],
  [`${LLAMA_405B}-FP8`, 8, H100, '--max-model-len 32768', FITS, 'Meta: FP8 on one node of 8 H100'],
  [LLAMA_405B, 8, 'H200-141GB', '', FITS, '101 GB on each of 141 GB'],
  [LLAMA_405B, 8, 'MI300X-192GB', '', FITS, 'AMD: 405 B in bf16 on one node of 8 MI300X'],
  [LLAMA_405B, 8, A100, '--max-model-len 8192', WEIGHTS, '101 GB on each of 80 GB'],
  [LLAMA_8B, 1, 'L4-24GB', '--max-model-len 8192', FITS, '16 GB on 24 GB'],
  [LLAMA_8B, 1, 'L4-24GB', '', KV, '131,072 tokens take 17 GB'],
  [LLAMA_8B, 1, 'A10-24GB', '--max-model-len 8192', FITS, '16 GB on 24 GB'],
  [LLAMA_8B, 1, 'L40S-48GB', '', FITS, '16 GB and 17 GB on 45 GB'],
  [LLAMA_8B, 1, H100, '', FITS, '16 GB and 17 GB on 80 GB'],
  [LLAMA_8B, 1, 'T4-16GB', '--dtype half --max-model-len 2048', WEIGHTS, '16 GB on 15 GB'],
  [LLAMA_8B, 2, 'T4-16GB', '--dtype half --max-model-len 8192', FITS, '8 GB on each of 15 GB'],
  [LLAMA_8B, 2, 'T4-16GB', '--dtype bfloat16 --max-model-len 8192', FORMAT, 'vLLM: bfloat16 from compute capability 8.0 on'],
  [LLAMA_8B, 1, 'L4-24GB', '--max-model-len 16384', TIGHT, '2.1 GB of KV cache in 2 GB'],
  [LLAMA_8B, 1, 'L4-24GB', '--max-model-len 16384 --kv-cache-dtype fp8', FITS, 'half of it in FP8'],
  [LLAMA_8B, 1, 'L4-24GB', '--max-model-len 8192 --enable-lora --max-loras 16 --max-lora-rank 64', WEIGHTS, '16 adapters, 5 GB'],
  [LLAMA_8B, 1, 'L40S-48GB', '--gpu-memory-utilization 0.3 --max-model-len 8192', WEIGHTS, '0.3 of 45 GB is less than 16 GB'],
  ['Qwen/Qwen3-8B', 1, 'L4-24GB', '--max-model-len 8192', FITS, '16.4 GB on 24 GB'],
  ['Qwen/Qwen3-8B', 1, 'L4-24GB', '', KV, 'its 40,960 tokens take 6 GB'],
  ['Qwen/Qwen3-8B', 1, 'L40S-48GB', '--max-model-len 32768', FITS, 'examples/quickstart'],
  ['Qwen/Qwen3-8B', 1, H100, '--max-model-len 131072', ['error fit/context'], 'model card: 40,960, more with YaRN only'],
  ['Qwen/Qwen3-8B', 1, H100, '--max-model-len 131072 --hf-overrides {}', FITS, 'model card: 131,072 with YaRN'],
  ['Qwen/Qwen3-8B', 1, H100, '--max-model-len auto', FITS, 'vLLM chooses what fits'],
  ['Qwen/Qwen3-32B', 1, H100, '', TIGHT, '65.5 GB and 10.7 GB on 80 GB'],
  ['Qwen/Qwen3-32B', 2, H100, '', FITS, 'llm-d benchmarks: 307,328 tokens of KV cache on 2 H100'],
  ['Qwen/Qwen3-32B', 1, A100_40, '', WEIGHTS, '65.5 GB on 40 GB'],
  ['Qwen/Qwen3-32B-FP8', 1, 'L40S-48GB', '--max-model-len 16384', FITS, '33 GB on 45 GB'],
  ['Qwen/Qwen2.5-7B-Instruct', 8, H100, '', ['error fit/heads'], '28 heads'],
  ['Qwen/Qwen2.5-7B-Instruct', 4, H100, '', FITS, '28 heads, 4 KV heads'],
  ['Qwen/Qwen2.5-0.5B-Instruct', 4, 'L4-24GB', '', ['error fit/heads'], '14 heads'],
  ['Qwen/Qwen2.5-Coder-32B-Instruct', 8, 'L40S-48GB', '', FITS, '40 heads, 8 KV heads'],
  ['Qwen/Qwen2.5-Coder-32B-Instruct', 16, 'L40S-48GB', '', ['error fit/heads'], '40 heads'],
  ['openai/gpt-oss-120b', 1, H100, '', FITS, 'model card: runs on a single 80 GB GPU'],
  ['openai/gpt-oss-120b', 1, A100, '', UNPACKED, 'the same on Ampere, MXFP4 unpacked'],
  ['openai/gpt-oss-120b', 2, 'Ascend-910B-64GB', '', FORMAT, 'no FP4 or FP8 units'],
  ['openai/gpt-oss-20b', 1, 'L4-24GB', '', FITS, 'model card: runs within 16 GB'],
  [
    'openai/gpt-oss-20b',
    1,
    'T4-16GB',
    '--max-model-len 4096',
    [...FORMAT, ...KV],
    'MXFP4 kernels start at Ampere; 13.7 GB on 15 GB',
  ],
  [V3, 8, 'H200-141GB', '', FITS, 'DeepSeek-V3 README and vLLM recipe: 8 H200'],
  [V3, 8, H100, '', WEIGHTS, 'DeepSeek-V3 README: 671 GB, 8 × 80 GB are 640'],
  [V3, 16, H100, '', FITS, 'vLLM recipe: two nodes of 8 H100'],
  [V3, 16, H100, '--data-parallel-size 16 --enable-expert-parallel', FITS, 'experts over 16 GPUs'],
  [V3, 8, 'MI300X-192GB', '', FITS, 'AMD: DeepSeek-V3 on one node of 8 MI300X'],
  [V3, 8, 'B200-180GB', '', FITS, '84 GB on each of 180 GB'],
  [V3, 8, A100, '', ['warning fit/number-format', 'error fit/weights'], '671 GB on 640 GB, and no FP8'],
  ['deepseek-ai/DeepSeek-V2-Lite', 1, A100_40, '--max-model-len 32768', FITS, 'model card: one 40 GB GPU'],
  ['deepseek-ai/DeepSeek-V2-Lite', 1, A100_40, '', TIGHT, '5 GB of KV cache in 4 GB'],
  [MIXTRAL, 1, H100, '', WEIGHTS, '93 GB on 80 GB'],
  [MIXTRAL, 2, H100, '', FITS, 'Mistral: two GPUs of 80 GB in bf16'],
  [MIXTRAL, 2, A100_40, '', WEIGHTS, '47 GB on each of 40 GB'],
  [MIXTRAL, 4, A100_40, '', FITS, '23 GB on each of 40 GB'],
  ['deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', 1, 'T4-16GB', '--max-model-len 32768', FITS, '3.6 GB on 15 GB'],
  [LLAMA_8B, 2, H100, '--tensor-parallel-size 4', ['error fit/ranks'], '4 ranks on 2 GPUs'],
  [LLAMA_8B, 2, H100, '--tensor-parallel-size 1', ['warning fit/ranks'], 'one GPU idles'],
  ['somebody/else-9b', 1, H100, '', ['info fit/unknown'], 'no such model in the catalogue'],
  [LLAMA_8B, 1, 'H9000', '', ['info fit/unknown'], 'no such accelerator in the catalogue'],
];

describe('whether a model fits', () => {
  it.each(TABLE)('%s on %i × %s %s: %j (%s)', (model, gpus, accelerator, flags, expected) => {
    expect(found(model, accelerator, gpus, flags)).toEqual(expected);
  });

  it('names the sizes and the nearest changes that fit', () => {
    const lines = (model: string, accelerator: string, gpus: number, words: string[]) =>
      checkObjects([{ object: deployment(model, accelerator, gpus, words) }])
        .filter(({ code }) => code.startsWith('fit/'))
        .map(({ message, remedy }) => `${message}; ${remedy}`);
    expect(lines(LLAMA_70B, H100, 1, ['--max-model-len', '8192'])).toEqual([
      `the weights of ${LLAMA_70B} take 131 GiB on each of 1 × ${H100}, where 72 GiB can be used; split it over 2 GPUs, or use B200-180GB, or take a checkpoint in FP8`,
    ]);
    expect(lines('Qwen/Qwen3-8B', 'L4-24GB', 1, [])).toEqual([
      'one request of 40960 tokens needs 5.6 GiB of KV cache on each of 1 × L4-24GB, where 4.4 GiB are left beside 15 GiB of weights of Qwen/Qwen3-8B; limit the context to 9216 tokens, or split it over 2 GPUs, or use L40S-48GB, or take a checkpoint in FP8',
    ]);
  });

  it('reckons with the memory that annotations tell of an accelerator outside of the catalogue', () => {
    const lines = (memoryGiB: number) => {
      const object = deployment(LLAMA_8B, 'own', 1, ['--max-model-len', '8192']);
      Object.assign(object.spec.template.metadata.annotations, { 'kvasir.dev/accelerator-memory-gib': String(memoryGiB) });
      return checkObjects([{ object }]).map(({ severity, code }) => `${severity} ${code}`);
    };
    expect(lines(64)).toEqual([]);
    expect(lines(16)).toEqual(WEIGHTS);
  });

  const anyQuestion = fc
    .record({
      shape: fc.constantFrom(...MODEL_SHAPES),
      accelerator: fc.constantFrom(...ACCELERATORS),
      tensorParallel: fc.constantFrom(1, 2, 4, 8),
      contextTokens: fc.integer({ min: 1, max: 200_000 }),
    })
    .map(
      ({ shape, ...rest }): FitQuestion => ({
        ...rest,
        shape,
        model: shape.name,
        gpus: rest.tensorParallel,
        pipelineParallel: 1,
        dataParallel: 1,
        isExpertParallel: false,
        isContextOpen: true,
        adapters: { count: 0, rank: 0 },
      }),
    );
  const RANK = { error: 2, warning: 1, info: 0 } as const;
  const worst = (question: FitQuestion): number =>
    Math.max(
      -1,
      ...fitFindings(question)
        .filter(({ code }) => code === 'fit/weights' || code === 'fit/kv-capacity')
        .map(({ severity }) => RANK[severity]),
    );

  it('never gets worse with fewer tokens, more pipeline stages or more memory', () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const before = worst(question);
        const { accelerator, contextTokens } = question;
        expect(worst({ ...question, contextTokens: Math.ceil(contextTokens! / 2) })).toBeLessThanOrEqual(before);
        expect(worst({ ...question, pipelineParallel: 2, gpus: question.gpus * 2 })).toBeLessThanOrEqual(before);
        expect(worst({ ...question, accelerator: { ...accelerator, memoryGiB: accelerator.memoryGiB * 2 } })).toBeLessThanOrEqual(
          before,
        );
      }),
    );
  });

  it('proposes a context that it then accepts', () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        for (const { code, remedy } of fitFindings(question)) {
          const tokens = /limit the context to (\d+)/.exec(remedy)?.[1];
          if (tokens === undefined) continue;
          expect(code).toBe('fit/kv-capacity');
          expect(worst({ ...question, contextTokens: Number(tokens) })).toBe(-1);
        }
      }),
    );
  });
});
