import fc from 'fast-check';
import { canonicalQuantity, parseQuantity } from '../../src/quantity';

describe('a quantity', () => {
  it.each([
    ['16Gi', 16 * 2 ** 30],
    ['500m', 0.5],
    ['1e3', 1000],
    ['0.5', 0.5],
    [8, 8],
    ['.5k', 500],
    ['12E', 12e18],
  ])('%s is read as %d', (text, value) => {
    expect(parseQuantity(text)).toBe(value);
  });

  it.each(['', 'Gi', '1.2.3', '5 Gi', 'ten', '1ki', '0x10'])('%j is none', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  it.each([
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['32768Mi', '32Gi'],
    [1, '1'],
    ['0', '0'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['1.5Gi', '1536Mi'],
    ['2000', '2k'],
    ['100M', '100M'],
  ])('%s is stored by the API server as %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  it('keeps its value and is stable in canonical form', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.constantFrom('m', '', 'k', 'M', 'Ki', 'Mi', 'Gi'),
        (count, suffix) => {
          const text = `${count}${suffix}`;
          const canonical = canonicalQuantity(text);
          expect(parseQuantity(canonical)).toBeCloseTo(parseQuantity(text)!, 6);
          expect(canonicalQuantity(canonical)).toBe(canonical);
        },
      ),
    );
  });

  it('refuses to write what is none', () => {
    expect(() => canonicalQuantity('many')).toThrow('not a quantity: many');
  });
});
