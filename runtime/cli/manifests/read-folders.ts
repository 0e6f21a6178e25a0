import { KvasirError } from '../../../src/errors';
import { ManifestFiles, type ManifestSet } from '../../cluster/manifests/manifest-files';

/**
 * Reads the manifests below some paths once.
 *
 * @throws KvasirError when a path is not there, or nothing in them is a manifest.
 */
export async function readFolders(paths: readonly string[]): Promise<ManifestSet> {
  const set = await new ManifestFiles(paths).read();
  const missing = set.findings.find(({ code, file }) => code === 'manifest/unreadable' && paths.includes(file ?? ''));
  if (missing !== undefined) throw new KvasirError(missing);
  if (set.objects.length === 0 && set.findings.length === 0) {
    throw new KvasirError({
      code: 'cli/no-manifests',
      file: paths.join(', '),
      message: 'there is no manifest',
      remedy: 'give a folder with .yaml, .yml or .json files of Kubernetes objects',
    });
  }
  return set;
}
