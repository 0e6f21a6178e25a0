import * as fc from 'fast-check';
import { fieldChanges } from '../../../../runtime/cli/diff/field-changes';

describe('fieldChanges', () => {
  it.each([
    ['a value', { a: { b: 1 } }, { a: { b: 2 } }, [{ field: 'a.b', before: 1, after: 2 }]],
    ['a new field', { a: 1 }, { a: 1, b: 2 }, [{ field: 'b', before: undefined, after: 2 }]],
    ['a field that is gone', { a: { b: [1] } }, { a: {} }, [{ field: 'a.b', before: [1], after: undefined }]],
    ['another type', { a: [1] }, { a: { b: 1 } }, [{ field: 'a', before: [1], after: { b: 1 } }]],
    [
      'elements of a list by their names, whatever their order',
      {
        c: [
          { name: 'x', v: 1 },
          { name: 'y', v: 1 },
        ],
      },
      {
        c: [
          { name: 'y', v: 1 },
          { name: 'x', v: 2 },
          { name: 'z', v: 3 },
        ],
      },
      [
        { field: 'c[x].v', before: 1, after: 2 },
        { field: 'c[z]', before: undefined, after: { name: 'z', v: 3 } },
      ],
    ],
    [
      'an order alone',
      { c: [{ name: 'x' }, { name: 'y' }] },
      { c: [{ name: 'y' }, { name: 'x' }] },
      [{ field: 'c', before: ['x', 'y'], after: ['y', 'x'] }],
    ],
    [
      'other lists by place',
      { a: ['--x', '1'] },
      { a: ['--x', '2', '--y'] },
      [
        { field: 'a[1]', before: '1', after: '2' },
        { field: 'a[2]', before: undefined, after: '--y' },
      ],
    ],
    [
      'flags that came and went between others, and those alone',
      { a: ['--model', 'm', '--old', '--drain', '197'] },
      { a: ['--model', 'm', '--split', '4', '--drain', '174', '--last'] },
      [
        { field: 'a[2]', before: '--old', after: '--split' },
        { field: 'a[3]', before: undefined, after: '4' },
        { field: 'a[5]', before: '197', after: '174' },
        { field: 'a[6]', before: undefined, after: '--last' },
      ],
    ],
    [
      'an element without name that came first, and a field of another',
      { r: [{ m: { w: 1 } }, { m: { w: 2 } }, { k: [1] }] },
      { r: [{ m: { w: 0 } }, { m: { w: 1 } }, { m: { w: 2 } }, { k: [2] }] },
      [
        { field: 'r[0]', before: undefined, after: { m: { w: 0 } } },
        { field: 'r[3].k[0]', before: 1, after: 2 },
      ],
    ],
    [
      'elements that are gone',
      { a: [1, 2, 3, 4] },
      { a: [1, 4] },
      [
        { field: 'a[1]', before: 2, after: undefined },
        { field: 'a[2]', before: 3, after: undefined },
      ],
    ],
    [
      'keys that are no words',
      { labels: { 'a.b/c': 'x' } },
      { labels: { 'a.b/c': 'y' } },
      [{ field: 'labels["a.b/c"]', before: 'x', after: 'y' }],
    ],
  ])('tells %s', (_, before, after, expected) => {
    expect(fieldChanges(before, after)).toEqual(expected);
  });

  it('tells of a list with elements put in only these, wherever they are', () => {
    const list = fc.array(fc.string(), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, fc.nat(12), (words, added, at) => {
        const place = Math.min(at, words.length);
        const changes = fieldChanges({ a: words }, { a: [...words.slice(0, place), ...added, ...words.slice(place)] });
        expect(changes.map(({ before }) => before)).toEqual(added.map(() => undefined));
        expect(changes.map(({ after }) => after).toSorted()).toEqual(added.toSorted());
      }),
    );
  });

  it('finds nothing between equal values, and something between unequal ones', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        // As files hold them: without negative zero.
        const [left, right] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))];
        expect(fieldChanges(left, JSON.parse(JSON.stringify(left)))).toEqual([]);
        if (JSON.stringify(left) !== JSON.stringify(right)) {
          const isSame = fieldChanges(left, right).length === 0;
          if (isSame) expect(left).toEqual(right);
        }
      }),
    );
  });
});
