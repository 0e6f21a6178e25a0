import fc from 'fast-check';
import { shellCommands } from '../../../src/expand/shell-words';

describe('shellCommands', () => {
  it.each([
    ['a b  c', [['a', 'b', 'c']]],
    ['a; b && c || d | e & f', [['a'], ['b'], ['c'], ['d'], ['e'], ['f']]],
    ['a\nb\n\nc', [['a'], ['b'], ['c']]],
    ['a \\\n  --b "c d"\n', [['a', '--b', 'c d']]],
    [`a '{"x":"y z"}'`, [['a', '{"x":"y z"}']]],
    [`a "it's" 'say "hi"' b\\ c`, [['a', "it's", 'say "hi"', 'b c']]],
    ['a "" b', [['a', '', 'b']]],
    ['a # the rest; b\nc', [['a'], ['c']]],
    ['a#b', [['a#b']]],
    ['a >/dev/null 2>&1 b < c d', [['a', 'b', 'd']]],
    ['(a; b)', [['a'], ['b']]],
    ['a $(date +%s; true) b', [['a', '$(date +%s; true)', 'b']]],
    ['', []],
    ['   # only a comment', []],
  ])('splits %j', (script, commands) => {
    expect(shellCommands(script)).toEqual(commands);
  });

  it.each([
    ['a $PORT', [['a', '8000']]],
    [`a \${PORT}1 "x$PORT"`, [['a', '80001', 'x8000']]],
    ["a '$PORT'", [['a', '$PORT']]],
    [`a \${MISSING:-9} \${MISSING-} $MISSING`, [['a', '9', '', '$MISSING']]],
    ['a \\$PORT "\\$PORT"', [['a', '$PORT', '$PORT']]],
  ])('puts values for variables in %j', (script, commands) => {
    expect(shellCommands(script, { PORT: '8000' })).toEqual(commands);
  });

  it('gives back words that were quoted', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (words) => {
        const script = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
        expect(shellCommands(script)).toEqual([words]);
      }),
    );
  });

  it('ends on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...`ab '"\\$(){}#;&|<>\n`) }), (script) => {
        expect(shellCommands(script).every((command) => command.length > 0)).toBe(true);
      }),
    );
  });
});
