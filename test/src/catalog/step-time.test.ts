import fc from 'fast-check';
import {
  ACCELERATORS,
  acceleratorNamed,
  gpusNeeded,
  kvCapacityTokens,
  loadTimeMs,
  MODEL_SHAPES,
  modelShapeNamed,
  stepTimeOf,
} from '../../../src/catalog';

const h100 = acceleratorNamed('H100-SXM-80GB')!;
const llama = modelShapeNamed('Llama-3.1-8B-Instruct')!;
const anyShape = fc.constantFrom(...MODEL_SHAPES);
const anyAccelerator = fc.constantFrom(...ACCELERATORS);

describe('the step time of an 8 B model on one H100', () => {
  const step = stepTimeOf(llama, h100, 1);

  it('is 12 ms for a lone sequence, as in the published profile', () => {
    expect(step.baseMs + step.perSequenceMs + 500 * step.perKvTokenMs).toBeCloseTo(12, 0);
  });

  it('doubles at 256 sequences of 500 tokens, as the profile does under full load', () => {
    expect((step.baseMs + 256 * step.perSequenceMs + 256 * 500 * step.perKvTokenMs) / 12).toBeCloseTo(2, 1);
  });

  it('prefills at the rate that routers in the field plan with, within 10 %', () => {
    expect(1000 / step.perPrefillTokenMs / 15_928).toBeGreaterThan(0.9);
    expect(1000 / step.perPrefillTokenMs / 15_928).toBeLessThan(1.1);
  });
});

describe('the step time', () => {
  it('is finite and positive for every model on every accelerator, and shorter with more GPUs', () => {
    fc.assert(
      fc.property(anyShape, anyAccelerator, fc.constantFrom(1, 2, 4, 8), (shape, accelerator, gpus) => {
        const one = stepTimeOf(shape, accelerator, gpus);
        const more = stepTimeOf(shape, accelerator, gpus * 2);
        for (const key of ['baseMs', 'perPrefillTokenMs', 'perSequenceMs', 'perKvTokenMs'] as const) {
          expect(one[key]).toBeGreaterThan(0);
          expect(Number.isFinite(one[key])).toBe(true);
          expect(more[key]).toBeLessThan(one[key]);
        }
      }),
    );
  });

  it('uses FP8 units for 8-bit weights where the hardware has them', () => {
    const fp8 = { ...llama, weightBytesPerParameter: 1 };
    expect(stepTimeOf(fp8, h100).perPrefillTokenMs).toBeCloseTo(stepTimeOf(llama, h100).perPrefillTokenMs / 2, 5);
    const a100 = acceleratorNamed('A100-SXM-80GB')!;
    expect(stepTimeOf(fp8, a100).perPrefillTokenMs).toBe(stepTimeOf(llama, a100).perPrefillTokenMs);
  });

  it('makes an H100 faster than an L4 by the ratios of their throughput and bandwidth', () => {
    const l4 = stepTimeOf(llama, acceleratorNamed('L4-24GB')!);
    const fast = stepTimeOf(llama, h100);
    expect(l4.perPrefillTokenMs / fast.perPrefillTokenMs).toBeCloseTo(989.5 / 121, 3);
    expect(l4.perKvTokenMs / fast.perKvTokenMs).toBeCloseTo(3350 / 300, 3);
  });
});

describe('the KV capacity', () => {
  it.each([
    ['Qwen3-32B', 2, 307_328],
    ['Llama-3.1-70B-Instruct', 4, 461_376],
  ])('of %s on %i H100 at 0.9 utilization is the published %i tokens within 2 %%', (model, gpus, tokens) => {
    const ratio = kvCapacityTokens(modelShapeNamed(model)!, h100, gpus, 0.9) / tokens;
    expect(ratio).toBeGreaterThan(0.98);
    expect(ratio).toBeLessThan(1.02);
  });

  it('is 0 when the weights do not fit', () => {
    expect(kvCapacityTokens(modelShapeNamed('Llama-3.3-70B-Instruct')!, h100, 1)).toBe(0);
  });

  it('never falls with more GPUs or a higher utilization', () => {
    fc.assert(
      fc.property(
        anyShape,
        anyAccelerator,
        fc.integer({ min: 1, max: 8 }),
        fc.double({ min: 0.3, max: 0.9, noNaN: true }),
        (shape, a, gpus, u) => {
          const tokens = kvCapacityTokens(shape, a, gpus, u);
          expect(kvCapacityTokens(shape, a, gpus * 2, u)).toBeGreaterThanOrEqual(tokens);
          expect(kvCapacityTokens(shape, a, gpus, u + 0.05)).toBeGreaterThanOrEqual(tokens);
        },
      ),
    );
  });

  it.each([
    ['Llama-3.1-8B-Instruct', 1],
    ['Qwen3-32B', 2],
    ['Llama-3.3-70B-Instruct', 4],
    ['DeepSeek-V3', 16],
  ])('%s needs %i H100 when a manifest names no count', (model, gpus) => {
    expect(gpusNeeded(modelShapeNamed(model)!, h100)).toBe(gpus);
  });
});

describe('the load time', () => {
  it('is a fixed part and the transfer of the weights', () => {
    expect(loadTimeMs(llama)).toBeCloseTo(30_000 + 8_030.26, 0);
    expect(loadTimeMs(llama, 1e9) - loadTimeMs(llama, 2e9)).toBeCloseTo(8_030.26, 0);
  });
});
