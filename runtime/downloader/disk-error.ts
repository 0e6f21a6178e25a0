import { KvasirError } from '../../src/errors';

/** Codes of Node for a disk or folder that does not take what is written. */
const CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'EFBIG', 'ENOTDIR']);

export function isDiskError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return CODES.has((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Does `work`, and tells in one line when a folder cannot be written. @throws KvasirError `download/disk`. */
export async function writingTo<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isDiskError(error)) throw error;
    const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT';
    throw new KvasirError({
      code: 'download/disk',
      field: '--output-dir',
      message: `${folder} cannot be written (${error.code})`,
      remedy: isFull
        ? 'make the volume larger; what came so far is kept'
        : 'mount a volume there that the user of the container may write',
    });
  }
}
