import { atEndOfTurn } from '../../../runtime/lib/end-of-turn';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('writes held to the end of a turn', () => {
  test('are made in their order, none of them at once', async () => {
    const made: number[] = [];
    for (const number of [1, 2, 3]) atEndOfTurn({ flush: () => made.push(number) });
    await Promise.resolve();
    expect(made).toEqual([]);
    await nextTurn();
    expect(made).toEqual([1, 2, 3]);
  });

  test('wait for the next turn when they are held while others are made', async () => {
    const made: string[] = [];
    atEndOfTurn({
      flush: () => {
        made.push('first');
        atEndOfTurn({ flush: () => made.push('second') });
      },
    });
    await nextTurn();
    expect(made).toEqual(['first']);
    await nextTurn();
    expect(made).toEqual(['first', 'second']);
  });
});
