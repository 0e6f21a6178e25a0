/** Keys longer than this are rare, and are decoded each time. */
const MAX_KEY_BYTES = 32;
/** A power of two. */
const SLOTS = 256;

/**
 * Remembers keys by their bytes. The bodies of a million requests name the same dozen members; comparing a few bytes is much cheaper
 * than a native call that makes a string of them, and the string is always the same one, so that looking it up needs no new hash.
 */
export class KeyCache {
  private readonly keys: (string | undefined)[] = new Array<string | undefined>(SLOTS).fill(undefined);
  private readonly bytes: Uint8Array[] = new Array<Uint8Array>(SLOTS).fill(new Uint8Array(0));

  /** The key whose bytes stand in `bytes[start, end)`, without escapes. Ill-formed UTF-8 gives replacement characters. */
  keyAt(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0 || length > MAX_KEY_BYTES) return bytes.toString('utf8', start, end);
    const slot = (length * 131 + bytes[start]! * 17 + bytes[end - 1]!) & (SLOTS - 1);
    const known = this.bytes[slot]!;
    if (known.length === length) {
      let index = 0;
      while (index < length && known[index] === bytes[start + index]) index += 1;
      if (index === length) return this.keys[slot]!;
    }
    const key = bytes.toString('utf8', start, end);
    this.bytes[slot] = Uint8Array.prototype.slice.call(bytes, start, end);
    this.keys[slot] = key;
    return key;
  }
}
