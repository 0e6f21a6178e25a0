/** Numeric parts of a release such as `0.32.0`, `v0.10.1rc1` or `0.5`; undefined when `text` begins with no release. */
export function releaseOf(text: string): readonly number[] | undefined {
  if (known.has(text)) return known.get(text);
  if (known.size >= MOST_KNOWN) known.clear();
  const release = readRelease(text);
  known.set(text, release);
  return release;
}

/** A thousand pods share a handful of releases. */
const known = new Map<string, readonly number[] | undefined>();
const MOST_KNOWN = 1000;

function readRelease(text: string): readonly number[] | undefined {
  const match = /^v?(\d+(?:\.\d+)*)/.exec(text);
  return match === null ? undefined : match[1]!.split('.').map(Number);
}

/** Orders releases by their numeric parts; a pre-release counts as its release. Text that is no release comes first. */
export function compareVersions(a: string, b: string): number {
  const left = releaseOf(a) ?? [];
  const right = releaseOf(b) ?? [];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
