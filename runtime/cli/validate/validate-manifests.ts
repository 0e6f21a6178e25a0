import { checkObjects } from '../../../src/checks';
import type { Finding } from '../../../src/errors';
import type { ManifestSet } from '../../cluster/manifests/manifest-files';
import { decodeManifests } from '../manifests/decode-manifests';

/** Codes of references to nothing, which an object that is invalid and left out would cause as well. */
const MISSING = /\/missing-|\/no-pods$/;

/** Everything that is wrong with some manifests: their syntax, each object, and all of them together. Errors first. */
export function validateManifests({ objects, findings }: ManifestSet): readonly Finding[] {
  const decoded = decodeManifests(objects);
  const together = checkObjects(decoded.checked).filter(({ code }) => decoded.invalid === 0 || !MISSING.test(code));
  const all = [...findings, ...decoded.findings, ...together];
  return (['error', 'warning', 'info'] as const).flatMap((severity) => all.filter((finding) => finding.severity === severity));
}
