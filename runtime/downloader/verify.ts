import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { RemoteFile } from './remote-file';

/** Why a file is not what it should be; undefined: it is, as far as can be told. */
export async function whatIsWrong(
  path: string,
  { bytes, digest }: Pick<RemoteFile, 'bytes' | 'digest'>,
): Promise<string | undefined> {
  const { size } = await stat(path);
  if (size !== bytes) return `it has ${size} bytes instead of ${bytes}`;
  if (digest === undefined) return undefined;
  const hash = createHash(digest.kind === 'sha256' ? 'sha256' : 'sha1');
  if (digest.kind === 'git-blob') hash.update(`blob ${size}\0`);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(chunk as Buffer);
  const hex = hash.digest('hex');
  return hex === digest.hex
    ? undefined
    : `its ${digest.kind === 'sha256' ? 'SHA-256' : 'git hash'} is ${hex} instead of ${digest.hex}`;
}
