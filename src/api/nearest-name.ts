/** Names that Kthena used before for fields that still exist. */
const OLDER_NAMES: Readonly<Record<string, string>> = {
  metricName: 'name',
  metricEndpoint: 'metricSources',
  backends: 'backend',
};

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/**
 * Which of `known` a person most likely meant by `name`.
 *
 * @returns undefined when none is near: more than a third of the letters, and more than two, would have to change.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const older = OLDER_NAMES[name];
  if (older !== undefined && known.includes(older)) return older;
  const limit = Math.max(2, Math.floor(name.length / 3));
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  const best = ranked[0];
  return best !== undefined && best.distance <= limit && best.distance < Math.max(name.length, best.candidate.length)
    ? best.candidate
    : undefined;
}
