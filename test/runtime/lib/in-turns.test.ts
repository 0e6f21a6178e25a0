import { inTurns } from '../../../runtime/lib/in-turns';

it('visits every item in order, so many in a turn', async () => {
  const seen: string[] = [];
  const done = inTurns([1, 2, 3, 4, 5], 2, (item) => seen.push(String(item)));
  for (let turn = 0; seen.length < 7; turn++) {
    seen.push('|');
    await new Promise((resolve) => setImmediate(resolve));
    if (turn > 10) break;
  }
  await done;
  expect(seen.join('')).toBe('12|34|5');
});

it('is over in the same turn when all fit', () => {
  const seen: number[] = [];
  void inTurns([1, 2], 2, (item) => seen.push(item));
  expect(seen).toEqual([1, 2]);
});
