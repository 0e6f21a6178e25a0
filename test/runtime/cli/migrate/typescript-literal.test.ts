import { runInThisContext } from 'node:vm';
import fc from 'fast-check';
import { Expression, quoted, typescriptLiteral, WIDTH } from '../../../../runtime/cli/migrate/typescript-literal';

/** JSON as text, so that objects of different realms compare. */
const evaluated = (literal: string): string => JSON.stringify(runInThisContext(`(${literal})`));

describe('a TypeScript literal', () => {
  it('means the JSON value that it was made of, whatever is in it', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom("it's", '"', '`a`', '\\n', 'a\nb\n', '\u2028'),
    );
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'a-b', 'class')), tie('value'), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
      ),
    })).value;
    fc.assert(
      fc.property(values, (value) => {
        expect(evaluated(typescriptLiteral(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each<[unknown, string]>([
    [{ a: 1, 'b-c': ['x', true] }, "{ a: 1, 'b-c': ['x', true] }"],
    [{}, '{}'],
    [[], '[]'],
    ["it's", '"it\'s"'],
    [`it's "so"`, `'it\\'s "so"'`],
    ['first\nsecond', "[\n  'first',\n  'second',\n].join('\\n')"],
    [{ server: new Expression('qwen') }, '{ server: qwen }'],
  ])('of %j is %s', (value, text) => {
    expect(typescriptLiteral(value)).toBe(text);
  });

  it('takes a line per field where it does not fit into one', () => {
    const value = { name: 'x'.repeat(WIDTH - 20), list: ['a', 'b'], inner: { a: 1 } };
    expect(typescriptLiteral(value)).toBe(`{\n  name: ${quoted(value.name)},\n  list: ['a', 'b'],\n  inner: { a: 1 },\n}`);
  });
});
