import { createHash } from 'node:crypto';

/**
 * Kthena's name of a block of tokens, of which its sidecars write who holds it: the first 63 bits of SHA-256 over the tokens as 32-bit
 * big-endian numbers, in decimal. It depends on the block's own tokens only. 0 for none.
 */
export function tokenBlockHash(tokens: readonly number[]): string {
  if (tokens.length === 0) return '0';
  const bytes = Buffer.allocUnsafe(4 * tokens.length);
  for (const [i, token] of tokens.entries()) bytes.writeUInt32BE(token >>> 0, 4 * i);
  const digest = createHash('sha256').update(bytes).digest();
  return (digest.readBigUInt64BE(0) & TOP_BIT_CLEAR).toString();
}

const TOP_BIT_CLEAR = 0x7fff_ffff_ffff_ffffn;

/** The names of a prompt's first blocks; the last one may be short. */
export function tokenBlockHashes(tokens: readonly number[], tokensPerBlock: number, maxBlocks: number): readonly string[] {
  const hashes: string[] = [];
  for (let start = 0; start < tokens.length && hashes.length < maxBlocks; start += tokensPerBlock) {
    hashes.push(tokenBlockHash(tokens.slice(start, start + tokensPerBlock)));
  }
  return hashes;
}

/** How many blocks each owner holds from the first one on. @param owners of each block, in order. */
export function ownedRuns(owners: readonly ReadonlySet<string>[]): ReadonlyMap<string, number> {
  const runs = new Map<string, number>();
  for (const owner of owners[0] ?? []) {
    let run = 1;
    while (owners[run]?.has(owner) === true) run += 1;
    runs.set(owner, run);
  }
  return runs;
}
