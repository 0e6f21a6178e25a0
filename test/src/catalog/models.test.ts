import {
  DEFAULT_MODEL_SHAPE,
  kvBytesPerToken,
  MODEL_SHAPES,
  modelShapeNamed,
  modelShapeOrDefault,
  weightBytes,
} from '../../../src/catalog';

describe('the model catalogue', () => {
  it('has at least ten models with different names', () => {
    expect(MODEL_SHAPES.length).toBeGreaterThanOrEqual(10);
    expect(new Set(MODEL_SHAPES.map(({ name }) => name)).size).toBe(MODEL_SHAPES.length);
  });

  it.each(MODEL_SHAPES.map((shape) => [shape.name, shape] as const))(
    '%s: heads divide, parameters are those of its layers',
    (_, shape) => {
      if (shape.attention.kind === 'grouped') expect(shape.heads % shape.attention.kvHeads).toBe(0);
      expect(shape.activeParameters).toBeLessThanOrEqual(shape.parameters);
      // Dense decoders have 8 to 24 hidden² parameters a layer beside their embeddings; a mixture's active path lies in the same range.
      const perLayer = shape.activeParameters / (shape.layers * shape.hiddenSize ** 2);
      expect(perLayer).toBeGreaterThan(8);
      expect(perLayer).toBeLessThan(30);
      expect(shape.source).not.toBe('');
    },
  );

  it.each([
    ['Llama-3.1-8B-Instruct', 131_072],
    ['Llama-3.3-70B-Instruct', 327_680],
    ['Qwen3-8B', 147_456],
    ['Qwen2.5-0.5B-Instruct', 12_288],
    ['DeepSeek-V3', 70_272],
    ['DeepSeek-V4-Flash', 6_880],
    ['Mixtral-8x7B-Instruct-v0.1', 131_072],
  ])('%s takes %i bytes of KV per token', (name, bytes) => {
    expect(kvBytesPerToken(modelShapeNamed(name)!)).toBe(bytes);
  });

  it('counts only full-attention layers as growing with the context', () => {
    expect(kvBytesPerToken(modelShapeNamed('gpt-oss-120b')!)).toBe(2 * 18 * 8 * 64 * 2);
  });

  it.each([
    ['gpt-oss-120b', 60.8],
    ['gpt-oss-20b', 12.8],
  ])('%s weighs %d GiB', (name, gib) => {
    expect(weightBytes(modelShapeNamed(name)!) / 2 ** 30).toBeCloseTo(gib, 1);
  });

  it.each(['Qwen/Qwen3-8B', 'qwen3-8b', 'hf://Qwen/Qwen3-8B', '/models/Qwen3-8B/', 's3://bucket/mirror/Qwen/Qwen3-8B'])(
    'knows %s',
    (name) => {
      expect(modelShapeNamed(name)?.name).toBe('Qwen/Qwen3-8B');
    },
  );

  it('answers undefined for a model that it does not know', () => {
    expect(modelShapeNamed('Qwen/Qwen3-8B-v1')).toBeUndefined();
    expect(modelShapeNamed('test')).toBeUndefined();
  });

  it('keeps a fine-tune at the shape of the longest name that it begins with', () => {
    const { shape, isExact } = modelShapeOrDefault('deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B-v1');
    expect(shape.name).toBe('deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B');
    expect(isExact).toBe(false);
  });

  it.each([
    ['Qwen/Qwen3-8B-FP8', 1],
    ['Qwen/Qwen3-8B-AWQ', 0.56],
    ['Qwen/Qwen3-8B-finetuned', 2],
  ])('reads the weight format of %s from its suffix', (name, bytes) => {
    expect(modelShapeOrDefault(name).shape).toMatchObject({ name: 'Qwen/Qwen3-8B', weightBytesPerParameter: bytes });
  });

  it('falls back to an 8 B model', () => {
    expect(modelShapeOrDefault('acme/secret')).toEqual({ shape: DEFAULT_MODEL_SHAPE, isExact: false });
  });
});
