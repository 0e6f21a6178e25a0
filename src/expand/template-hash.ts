/** Kubernetes' alphabet for generated names: no vowels, and no digits that look like letters. */
const SAFE = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * Hash of a template as Kubernetes writes such hashes: FNV-1a of 32 bits, its decimal digits mapped to the safe alphabet, so 1 to 10
 * characters. The value differs from a real controller's, which hashes Go's dump of its own structs.
 */
function templateHash(template: unknown): string {
  return [...String(fnv1a(canonicalJson(template)))].map((digit) => SAFE[digit.charCodeAt(0) % SAFE.length]).join('');
}

const hashes = new WeakMap<object, string>();

/** The hash of `template()`, computed once for each `owner`: objects are values and never change after they were read. */
export function hashOnce(owner: object, template: () => unknown): string {
  let hash = hashes.get(owner);
  if (hash === undefined) {
    hash = templateHash(template());
    hashes.set(owner, hash);
  }
  return hash;
}

/** Number of different suffixes: 27⁵. */
const SUFFIXES = SAFE.length ** 5;
/** Any number that is no multiple of 3 steps through all 27⁵ suffixes before one repeats. */
const STRIDE = 8_191_001;

/** Five safe characters for the `ordinal`-th name that begins with `prefix`; different ordinals never share one. */
export function nameSuffix(prefix: string, ordinal: number): string {
  let rest = (fnv1a(prefix) + ordinal * STRIDE) % SUFFIXES;
  let suffix = '';
  for (let i = 0; i < 5; i++) {
    suffix += SAFE[rest % SAFE.length];
    rest = Math.floor(rest / SAFE.length);
  }
  return suffix;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** JSON with sorted keys and without undefined fields: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  const members: string[] = [];
  for (const key of Object.keys(fields).sort()) {
    if (fields[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(fields[key])}`);
  }
  return `{${members.join(',')}}`;
}
