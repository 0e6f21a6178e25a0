import { TextDensity } from '../../../../runtime/router/cache/text-density';

describe('the text density', () => {
  it('is four bytes a token until something was seen, by model', () => {
    const density = new TextDensity();
    for (let i = 0; i < 200; i++) density.observe('cjk', 2000, 1000);
    expect(density.bytesPerToken('cjk')).toBeCloseTo(2, 0);
    expect(density.bytesPerToken('english')).toBe(4);
  });

  it('moves in steps, so that pod shares do not move with every answer', () => {
    const density = new TextDensity();
    density.observe('m', 4000, 1000);
    const before = density.bytesPerToken('m');
    density.observe('m', 4400, 1000);
    expect(density.bytesPerToken('m')).toBe(before);
  });

  it.each([
    [0, 100],
    [1_000_000, 100],
    [100, 0],
    [0, 0],
  ])('ignores %d bytes in %d tokens, which is no text', (bytes, tokens) => {
    const density = new TextDensity();
    density.observe('m', bytes, tokens);
    expect(density.bytesPerToken('m')).toBe(4);
  });
});
