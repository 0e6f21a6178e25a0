import fc from 'fast-check';
import { between, Replicas } from '../../../constructs';
import { checkedRatio, ratioFindings } from '../../../constructs/pd-group/ratio';
import { repairRatio } from '../../../runtime/autoscaler/decide/ratio';

const codes = (...args: Parameters<typeof ratioFindings>) => ratioFindings(...args).map(({ code }) => code);

describe('the ratio of prefill to decode', () => {
  it.each([
    ['bounds that leave no other ratio', { min: 0.5, max: 2 }, between(1, 2), between(1, 2), false, []],
    ['fixed replicas within it', { min: 0.5, max: 0.5 }, Replicas.from(2), Replicas.from(4), false, []],
    ['a scaler that keeps it', { min: 0.25, max: 1 }, between(1, 4), between(1, 8), true, []],
    ['scalers that do not', { min: 0.25, max: 1 }, between(1, 4), between(1, 8), false, ['pd/ratio-not-kept']],
    ['too few prefills', { min: 2, max: 3 }, between(1, 1), between(1, 8), true, ['pd/ratio-impossible']],
    ['too few decodes', { min: 0.1, max: 0.2 }, between(2, 4), between(1, 8), true, ['pd/ratio-impossible']],
    ['no whole number between the bounds', { min: 0.4, max: 0.45 }, between(1, 2), between(1, 4), true, ['pd/ratio-impossible']],
    ['a decimal that binary cannot hold', { min: 0.1, max: 0.1 }, Replicas.from(3), Replicas.from(30), false, []],
    ['none asked for', undefined, between(1, 4), between(1, 8), false, []],
    ['both at zero, together', { min: 1, max: 1 }, between(0, 4), between(0, 4), true, []],
    ['both at zero, each by itself', undefined, between(0, 4), between(0, 4), false, ['pd/scale-to-zero']],
    ['prefill alone at zero', undefined, between(0, 4), between(1, 4), true, ['pd/scale-to-zero']],
    ['decode alone at zero', undefined, between(1, 4), between(0, 4), true, ['pd/scale-to-zero']],
  ] as const)('with %s', (_, ratio, prefill, decode, isKept, expected) => {
    expect(codes(ratio, prefill, decode, isKept)).toEqual(expected);
  });

  const bounds = fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 6 }))
    .map(([min, more]) => between(min, min + more));
  const ratios = fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 40 }))
    .map(([min, more]) => ({ min: min / 10, max: (min + more) / 10 }));

  it('is called impossible exactly when no pair of replicas has it', () => {
    fc.assert(
      fc.property(ratios, bounds, bounds, (ratio, prefill, decode) => {
        let isPossible = false;
        for (let p = prefill.min; p <= prefill.max; p++) {
          for (let d = decode.min; d <= decode.max; d++) {
            isPossible ||= p >= ratio.min * d - 1e-9 && p <= ratio.max * d + 1e-9;
          }
        }
        expect(codes(ratio, prefill, decode, true).includes('pd/ratio-impossible')).toBe(!isPossible);
      }),
    );
  });

  it('that bounds alone are said to keep needs no repair by the autoscaler, whatever the replicas', () => {
    fc.assert(
      fc.property(ratios, bounds, bounds, ({ min, max }, prefill, decode) => {
        fc.pre(codes({ min, max }, prefill, decode, false).length === 0);
        for (let numerator = prefill.min; numerator <= prefill.max; numerator++) {
          for (let denominator = decode.min; denominator <= decode.max; denominator++) {
            const repair = repairRatio(
              { numerator, denominator },
              { numerator: prefill, denominator: decode },
              { minRatio: min, maxRatio: max },
            );
            expect(repair.isAdjusted).toBe(false);
          }
        }
      }),
    );
  });

  it.each([
    [{ min: 2, max: 1 }],
    [{ min: -1, max: 1 }],
    [{ min: 0, max: 0 }],
    [{ min: Number.NaN, max: 1 }],
    [{ min: 0, max: Number.POSITIVE_INFINITY }],
  ])('is refused where it is no range: %j', (ratio) => {
    expect(() => checkedRatio(ratio)).toThrow(/is no range/);
  });
});
