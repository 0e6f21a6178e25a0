/** How attention stores its KV cache. */
export type Attention =
  /** Multi-head, grouped-query or multi-query attention: a key and a value per KV head. */
  | { readonly kind: 'grouped'; readonly kvHeads: number; readonly headDim: number; readonly slidingWindow?: SlidingWindow }
  /** Multi-head latent attention: one compressed vector and one rotary key per layer, shared by all heads. */
  | { readonly kind: 'latent'; readonly kvLoraRank: number; readonly ropeHeadDim: number }
  /** Compressed sparse attention: groups of layers that keep one row of `rowElements` for every `tokensPerRow` tokens. */
  | {
      readonly kind: 'compressed';
      readonly groups: readonly { readonly layers: number; readonly rowElements: number; readonly tokensPerRow: number }[];
    };

/** Layers that keep only the last `tokens` tokens of KV. */
export interface SlidingWindow {
  readonly layers: number;
  readonly tokens: number;
}

/** What sizes a model: the figures of its published configuration. */
export interface ModelShape {
  /** Hub name, such as `Qwen/Qwen3-8B`. */
  readonly name: string;
  readonly layers: number;
  readonly heads: number;
  readonly hiddenSize: number;
  readonly attention: Attention;
  /** All parameters, embeddings included. */
  readonly parameters: number;
  /** Parameters that one token passes through; equal to `parameters` for dense models. */
  readonly activeParameters: number;
  /** Bytes per parameter of the published checkpoint, scales included: 2 for bf16, 1 for FP8. */
  readonly weightBytesPerParameter: number;
  /** Bytes per element of KV cache, 2 unless the engine is told otherwise. */
  readonly kvBytesPerElement: number;
  /** Longest context of the published configuration, in tokens. */
  readonly maxContextTokens: number;
  /** Where the figures come from. */
  readonly source: string;
}

type DenseRow = readonly [
  name: string,
  layers: number,
  heads: number,
  kvHeads: number,
  headDim: number,
  hiddenSize: number,
  parameters: number,
  maxContextTokens: number,
];

/** bf16 decoders with grouped-query attention. Figures: `config.json` and `model.safetensors.index.json` of the named repository. */
const DENSE: readonly DenseRow[] = [
  ['Qwen/Qwen3-0.6B', 28, 16, 8, 128, 1024, 596_049_920, 40_960],
  ['Qwen/Qwen3-8B', 36, 32, 8, 128, 4096, 8_190_735_360, 40_960],
  ['Qwen/Qwen3-32B', 64, 64, 8, 128, 5120, 32_762_123_264, 40_960],
  ['Qwen/Qwen2.5-0.5B-Instruct', 24, 14, 2, 64, 896, 494_032_768, 32_768],
  ['Qwen/Qwen2.5-7B-Instruct', 28, 28, 4, 128, 3584, 7_615_616_512, 32_768],
  ['Qwen/Qwen2.5-Coder-32B-Instruct', 64, 40, 8, 128, 5120, 32_763_876_352, 32_768],
  ['meta-llama/Llama-3.1-8B-Instruct', 32, 32, 8, 128, 4096, 8_030_261_248, 131_072],
  ['meta-llama/Llama-3.3-70B-Instruct', 80, 64, 8, 128, 8192, 70_553_706_496, 131_072],
  ['meta-llama/Llama-3.1-405B-Instruct', 126, 128, 8, 128, 16_384, 405_853_388_800, 131_072],
  ['deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', 28, 12, 2, 128, 1536, 1_777_088_000, 131_072],
  ['deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', 28, 28, 4, 128, 3584, 7_615_616_512, 131_072],
];

const MIXTURES: readonly ModelShape[] = [
  {
    name: 'mistralai/Mixtral-8x7B-Instruct-v0.1',
    layers: 32,
    heads: 32,
    hiddenSize: 4096,
    attention: { kind: 'grouped', kvHeads: 8, headDim: 128 },
    parameters: 46_702_792_704,
    activeParameters: 12_900_000_000,
    weightBytesPerParameter: 2,
    kvBytesPerElement: 2,
    maxContextTokens: 32_768,
    source: 'config.json of the repository; active parameters from the Mixtral paper',
  },
  {
    name: 'openai/gpt-oss-20b',
    layers: 24,
    heads: 64,
    hiddenSize: 2880,
    attention: { kind: 'grouped', kvHeads: 8, headDim: 64, slidingWindow: { layers: 12, tokens: 128 } },
    parameters: 20_914_757_184,
    activeParameters: 3_610_000_000,
    // 12.8 GiB of checkpoint: experts in MXFP4, the rest in bf16.
    weightBytesPerParameter: 0.657,
    kvBytesPerElement: 2,
    maxContextTokens: 131_072,
    source: 'config.json of the repository; sizes from the gpt-oss model card',
  },
  {
    name: 'openai/gpt-oss-120b',
    layers: 36,
    heads: 64,
    hiddenSize: 2880,
    attention: { kind: 'grouped', kvHeads: 8, headDim: 64, slidingWindow: { layers: 18, tokens: 128 } },
    parameters: 116_829_156_672,
    activeParameters: 5_130_000_000,
    // 60.8 GiB of checkpoint: experts in MXFP4, the rest in bf16.
    weightBytesPerParameter: 0.559,
    kvBytesPerElement: 2,
    maxContextTokens: 131_072,
    source: 'config.json of the repository; sizes from the gpt-oss model card',
  },
  {
    name: 'deepseek-ai/DeepSeek-V2-Lite',
    layers: 27,
    heads: 16,
    hiddenSize: 2048,
    attention: { kind: 'latent', kvLoraRank: 512, ropeHeadDim: 64 },
    parameters: 15_706_484_224,
    activeParameters: 2_400_000_000,
    weightBytesPerParameter: 2,
    kvBytesPerElement: 2,
    maxContextTokens: 163_840,
    source: 'config.json of the repository; active parameters from its model card',
  },
  {
    name: 'deepseek-ai/DeepSeek-V3',
    layers: 61,
    heads: 128,
    hiddenSize: 7168,
    attention: { kind: 'latent', kvLoraRank: 512, ropeHeadDim: 64 },
    parameters: 671_026_419_200,
    activeParameters: 37_000_000_000,
    weightBytesPerParameter: 1,
    kvBytesPerElement: 2,
    maxContextTokens: 163_840,
    source: 'config.json of the repository; parameters without the multi-token-prediction module, from the technical report',
  },
  {
    name: 'deepseek-ai/DeepSeek-V4-Flash',
    layers: 43,
    heads: 64,
    hiddenSize: 4096,
    // Two layers keep a window of 128 tokens only; of the rest every second one compresses 4 tokens to a row with a key of its
    // indexer, the others 128 tokens to a row.
    attention: {
      kind: 'compressed',
      groups: [
        { layers: 21, rowElements: 512 + 128, tokensPerRow: 4 },
        { layers: 20, rowElements: 512, tokensPerRow: 128 },
      ],
    },
    parameters: 284_000_000_000,
    activeParameters: 13_000_000_000,
    // As its 8-bit copies are stored; engines for GPUs with FP4 load the experts at half of it.
    weightBytesPerParameter: 1,
    kvBytesPerElement: 2,
    maxContextTokens: 1_048_576,
    source: 'config.json of the repository; parameters from its model card',
  },
];

/** All model shapes of the catalogue. */
export const MODEL_SHAPES: readonly ModelShape[] = [
  ...DENSE.map(
    ([name, layers, heads, kvHeads, headDim, hiddenSize, parameters, maxContextTokens]): ModelShape => ({
      name,
      layers,
      heads,
      hiddenSize,
      attention: { kind: 'grouped', kvHeads, headDim },
      parameters,
      activeParameters: parameters,
      weightBytesPerParameter: 2,
      kvBytesPerElement: 2,
      maxContextTokens,
      source: `config.json and safetensors index of ${name}`,
    }),
  ),
  ...MIXTURES,
];

/** Other published names of the same weights' shape. */
const ALIASES: Readonly<Record<string, string>> = {
  'DeepSeek-R1': 'DeepSeek-V3',
  'DeepSeek-V3-0324': 'DeepSeek-V3',
  'DeepSeek-V3-Base': 'DeepSeek-V3',
  'Meta-Llama-3.1-8B-Instruct': 'Llama-3.1-8B-Instruct',
  'Llama-3.1-8B': 'Llama-3.1-8B-Instruct',
  'Llama-3.3-70B': 'Llama-3.3-70B-Instruct',
  'Llama-3.1-70B-Instruct': 'Llama-3.3-70B-Instruct',
  'Mixtral-8x7B': 'Mixtral-8x7B-Instruct-v0.1',
  'Mixtral-8x7B-v0.1': 'Mixtral-8x7B-Instruct-v0.1',
  'Qwen2.5-0.5B': 'Qwen2.5-0.5B-Instruct',
  'Qwen2.5-7B': 'Qwen2.5-7B-Instruct',
  'Qwen2.5-Coder-32B': 'Qwen2.5-Coder-32B-Instruct',
  // Names under which Kthena's examples serve these models.
  DeepSeekV2: 'DeepSeek-V2-Lite',
  deepseek_v4: 'DeepSeek-V4-Flash',
};

/** Stands for a model that the catalogue does not know: an 8 B decoder, the size that most published figures are for. */
export const DEFAULT_MODEL_SHAPE: ModelShape = MODEL_SHAPES.find(({ name }) => name === 'meta-llama/Llama-3.1-8B-Instruct')!;

const baseName = (name: string) => name.replace(/\/+$/, '').split('/').at(-1)!.toLowerCase();
const byBaseName = new Map(MODEL_SHAPES.map((shape) => [baseName(shape.name), shape]));
for (const [alias, name] of Object.entries(ALIASES)) byBaseName.set(alias.toLowerCase(), byBaseName.get(name.toLowerCase())!);

/**
 * Looks a model up by its hub name. Case does not matter, the organisation may be left out or be a folder, and a source prefix
 * (`hf://`, `ms://`, `s3://bucket/`, …) is ignored.
 *
 * @returns undefined when the catalogue does not know it.
 */
export function modelShapeNamed(name: string): ModelShape | undefined {
  return byBaseName.get(baseName(name.replace(/^[a-z0-9]+:\/\//i, '')));
}

/** Suffix of a checkpoint's name that tells how its weights are stored, with bytes per parameter. */
const QUANTIZATION: readonly (readonly [RegExp, number])[] = [
  [/(?:^|[-_])(?:fp8|w8a8|int8|8bit)(?:$|[-_])/i, 1],
  // Four bits and a scale for each group of 128 or 32.
  [/(?:^|[-_])(?:awq|gptq|int4|w4a16|nvfp4|mxfp4|fp4|4bit|bnb)(?:$|[-_])/i, 0.56],
];

/**
 * The shape to reckon with for any model name: the catalogue's, else that of the model whose name this one begins with (a fine-tune or a
 * quantized copy, whose suffix tells the bytes per weight), else `DEFAULT_MODEL_SHAPE`.
 */
export function modelShapeOrDefault(name: string): { readonly shape: ModelShape; readonly isExact: boolean } {
  const exact = modelShapeNamed(name);
  if (exact !== undefined) return { shape: exact, isExact: true };
  return { shape: derivedModelShape(name) ?? DEFAULT_MODEL_SHAPE, isExact: false };
}

/** The shape of the catalogue's model whose name `name` begins with, at the bytes per weight that its suffix tells. */
export function derivedModelShape(name: string): ModelShape | undefined {
  const base = baseName(name);
  const parent = [...byBaseName.keys()]
    .filter((key) => base.startsWith(key) && /^[-_.]/.test(base.slice(key.length)))
    .sort((a, b) => b.length - a.length)[0];
  if (parent === undefined) return undefined;
  const shape = byBaseName.get(parent)!;
  const weightBytesPerParameter = QUANTIZATION.find(([suffix]) => suffix.test(base.slice(parent.length)))?.[1];
  return weightBytesPerParameter === undefined ? shape : { ...shape, weightBytesPerParameter };
}

/** Bytes of the model's weights in memory. */
export function weightBytes(shape: ModelShape): number {
  return shape.parameters * shape.weightBytesPerParameter;
}

/**
 * Bytes of KV cache that one more token of a long context takes, over all layers and all GPUs. Layers with a sliding window keep a
 * fixed number of tokens and add nothing.
 */
export function kvBytesPerToken(shape: ModelShape): number {
  const { attention, layers, kvBytesPerElement } = shape;
  switch (attention.kind) {
    case 'grouped':
      return 2 * (layers - (attention.slidingWindow?.layers ?? 0)) * attention.kvHeads * attention.headDim * kvBytesPerElement;
    case 'latent':
      return layers * (attention.kvLoraRank + attention.ropeHeadDim) * kvBytesPerElement;
    case 'compressed':
      return (
        attention.groups.reduce((sum, group) => sum + (group.layers * group.rowElements) / group.tokensPerRow, 0) *
        kvBytesPerElement
      );
  }
}
