import type { Random } from '../lib/random';
import { seededRandom } from '../lib/random';

/** `digits` hexadecimal digits. */
export function hexId(random: Random, digits: number): string {
  let id = '';
  while (id.length < digits)
    id += Math.floor(random.next() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  return id.slice(0, digits);
}

/**
 * The source that decides one answer. A greedy or seeded request always gets the same answer, as from a real engine; every other one
 * a new one.
 */
export function answerRandom(
  random: Random,
  promptIds: readonly number[],
  seed: number | undefined,
  isGreedy: boolean,
  choice: number,
): Random {
  if (!isGreedy && seed === undefined) return seededRandom(Math.floor(random.next() * 0x1_0000_0000));
  // FNV-1a over the prompt, the seed and the choice.
  let hash = 0x811c9dc5;
  for (const id of promptIds) hash = Math.imul(hash ^ id, 0x01000193);
  hash = Math.imul(hash ^ (seed ?? 0), 0x01000193);
  return seededRandom(Math.imul(hash ^ choice, 0x01000193));
}
