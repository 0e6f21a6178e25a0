import { spawnSync } from 'node:child_process';
import { KvasirError } from '../../../src/errors';
import { type ManifestObject, readManifests } from '../../../src/read-manifests';
import type { ManifestSet } from '../../cluster/manifests/manifest-files';

const MANIFEST_NAME = /\.(?:ya?ml|json)$/i;
/** Output of git that is read at once: a thousand models have some ten megabytes of manifests. */
const LARGEST_OUTPUT_BYTES = 1 << 30;

/**
 * The manifests below `folder` as they were at a revision of its git repository; hidden files and folders are left out, as when a folder
 * is read.
 *
 * @throws KvasirError when there is no repository, no git, or no such revision.
 */
export function readRevision(folder: string, revision: string): ManifestSet {
  // A name that begins with a dash would be an option of git.
  if (revision.startsWith('-')) throw unknown(folder, revision);
  const commit = git(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]);
  if (commit === undefined) throw unknown(folder, revision);
  const listing = git(folder, ['ls-tree', '-r', '-z', commit.toString().trim(), './']) ?? Buffer.alloc(0);
  const files = listing
    .toString()
    .split('\0')
    .flatMap((line) => {
      const match = /^100\d+ blob ([0-9a-f]+)\t(.+)$/s.exec(line);
      return match === null || !isManifest(match[2]!) ? [] : [{ blob: match[1]!, path: match[2]! }];
    });
  const texts = readBlobs(
    folder,
    files.map(({ blob }) => blob),
  );
  const sets = files.map(({ path }, i) => readManifests(texts[i]!, `${revision}:${path}`));
  return {
    objects: sets.flatMap(({ objects }): readonly ManifestObject[] => objects),
    findings: sets.flatMap(({ findings }) => findings),
  };
}

function isManifest(path: string): boolean {
  return MANIFEST_NAME.test(path) && !path.split('/').some((part) => part.startsWith('.') || part === 'node_modules');
}

/** Contents of blobs, in order: `git cat-file --batch` answers each with a line that ends in its size, the bytes, and a line end. */
function readBlobs(folder: string, blobs: readonly string[]): readonly string[] {
  if (blobs.length === 0) return [];
  const output = git(folder, ['cat-file', '--batch'], `${blobs.join('\n')}\n`) ?? Buffer.alloc(0);
  const texts: string[] = [];
  for (let at = 0; texts.length < blobs.length; ) {
    const lineEnd = output.indexOf(10, at);
    const bytes = Number(output.subarray(at, lineEnd).toString().split(' ')[2]);
    texts.push(output.subarray(lineEnd + 1, lineEnd + 1 + bytes).toString('utf8'));
    at = lineEnd + 1 + bytes + 1;
  }
  return texts;
}

function git(folder: string, args: readonly string[], input?: string): Buffer | undefined {
  const { status, stdout, error } = spawnSync('git', ['-C', folder, ...args], {
    input: input ?? '',
    maxBuffer: LARGEST_OUTPUT_BYTES,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  if (error !== undefined) {
    throw new KvasirError({
      code: 'diff/no-git',
      file: folder,
      message: `git cannot be run (${(error as NodeJS.ErrnoException).code ?? error.message})`,
      remedy: 'install it, or give a folder to compare with',
    });
  }
  return status === 0 ? stdout : undefined;
}

function unknown(folder: string, revision: string): KvasirError {
  return new KvasirError({
    code: 'diff/unknown-revision',
    file: folder,
    message: `${JSON.stringify(revision)} is neither a folder nor a revision of a git repository here`,
    remedy: 'give a folder, a branch, a tag or a commit',
  });
}
