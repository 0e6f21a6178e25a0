import { OutputEstimate } from '../../../../runtime/router/scheduling/output-estimate';

describe('the output estimate', () => {
  it('is a default until an answer was seen, then the first answer, then a slow average', () => {
    const outputs = new OutputEstimate();
    expect(outputs.expectedTokens('a', undefined)).toBe(256);
    outputs.observe('a', 100);
    expect(outputs.expectedTokens('a', undefined)).toBe(100);
    outputs.observe('a', 300);
    expect(outputs.expectedTokens('a', undefined)).toBe(110);
    expect(outputs.expectedTokens('b', undefined)).toBe(256);
  });

  it.each([
    [10, 10],
    [1000, 256],
    [0, 1],
    [-5, 1],
    [Number.NaN, 256],
  ])('is capped by max_tokens %d: %d', (maxTokens, expected) => {
    expect(new OutputEstimate().expectedTokens('a', maxTokens)).toBe(expected);
  });

  it('ignores what is no count', () => {
    const outputs = new OutputEstimate();
    for (const tokens of [Number.NaN, Number.POSITIVE_INFINITY, -1]) outputs.observe('a', tokens);
    expect(outputs.expectedTokens('a', undefined)).toBe(256);
  });

  it('keeps a bounded number of keys, those used last', () => {
    const outputs = new OutputEstimate();
    outputs.observe('first', 7);
    for (let i = 0; i < 10_000; i++) outputs.observe(`key ${i}`, 9);
    expect(outputs.expectedTokens('first', undefined)).toBe(256);
    expect(outputs.expectedTokens('key 9999', undefined)).toBe(9);
  });
});
