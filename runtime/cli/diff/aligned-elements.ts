import { isDeepStrictEqual } from 'node:util';

/** More pairs of elements than this are not all compared: the lists then only match by place. */
const MOST_PAIRS = 1_000_000;

/** Indices `[before, after]` of equal elements, ascending in both: a longest common subsequence. Pure. */
export function alignedElements(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isDeepStrictEqual(before.at(-1 - end), after.at(-1 - end))) end++;
  const head = Array.from({ length: start }, (_, i) => [i, i] as const);
  const tail = Array.from({ length: end }, (_, i) => [before.length - end + i, after.length - end + i] as const);
  const middle = longestCommon(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...head, ...middle.map(([i, j]) => [start + i, start + j] as const), ...tail];
}

function longestCommon(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  if (before.length * after.length > MOST_PAIRS) {
    return before.flatMap((element, i) => (i < after.length && isDeepStrictEqual(element, after[i]) ? [[i, i] as const] : []));
  }
  // lengths[i][j]: elements that the lists have in common from i and j on.
  const lengths = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i]![j] = isDeepStrictEqual(before[i], after[j])
        ? lengths[i + 1]![j + 1]! + 1
        : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const pairs: (readonly [number, number])[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (isDeepStrictEqual(before[i], after[j])) pairs.push([i++, j++]);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return pairs;
}
