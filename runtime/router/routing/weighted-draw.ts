/** Weight of a target that names none: the default of ModelRoute's schema. */
const DEFAULT_WEIGHT = 100;

/**
 * Draws one target with probability weight ÷ sum of weights. Weights are relative and need not sum to 100; one that is absent counts
 * as the schema's default, so a mix of set and absent weights is as good as any.
 *
 * @param random uniform in [0, 1).
 * @returns undefined when no target has a weight above zero.
 */
export function weightedDraw<T extends { readonly weight?: number | null }>(
  targets: readonly T[],
  random: number,
): T | undefined {
  const total = targets.reduce((sum, target) => sum + weightOf(target), 0);
  if (total <= 0) return undefined;
  let rest = random * total;
  let last: T | undefined;
  for (const target of targets) {
    const weight = weightOf(target);
    if (weight === 0) continue;
    last = target;
    rest -= weight;
    if (rest < 0) return target;
  }
  return last;
}

/** Weight of a target; one that names none has the default of the schema. */
export function weightOf(target: { readonly weight?: number | null }): number {
  return Math.max(0, target.weight ?? DEFAULT_WEIGHT);
}
