import { KvasirError } from '../../src/errors';

/** Where a model comes from. */
export type Source =
  /** A repository of Hugging Face, or of a mirror. */
  | { readonly kind: 'hugging-face'; readonly repository: string }
  /** A folder of a volume that is mounted. */
  | { readonly kind: 'folder'; readonly path: string };

const REPOSITORY = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;
/** Schemes that Kthena's downloader takes besides. */
const NOT_YET = /^(ms|s3|obs):\/\//;

/**
 * Reads `hf://organization/name`, `organization/name`, or `pvc://folder`.
 *
 * @throws KvasirError `download/source` for anything else.
 */
export function parseSource(text: string): Source {
  const fail = (message: string, remedy: string): never => {
    throw new KvasirError({ code: 'download/source', field: '--source', message, remedy });
  };
  if (text.startsWith('pvc://')) {
    const path = `/${text.slice('pvc://'.length).split('/').filter(isName).join('/')}`;
    return path === '/' ? fail(`${JSON.stringify(text)} names no folder`, 'write pvc:// and its path') : { kind: 'folder', path };
  }
  if (NOT_YET.test(text)) {
    fail(
      `${JSON.stringify(text)} is a source that this downloader does not read yet`,
      'use hf:// or pvc://, or an image that reads it',
    );
  }
  const repository = text.replace(/^hf:\/\//, '').replace(/\/+$/, '');
  if (REPOSITORY.test(repository) && !repository.includes('..')) return { kind: 'hugging-face', repository };
  return fail(`${JSON.stringify(text)} is no source`, 'write hf://organization/name or pvc://folder');
}

function isName(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..';
}
