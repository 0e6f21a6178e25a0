import { checkObjects, sortByAnnotations } from '../../../src/checks';
import type { AnnotatedFindings } from '../../../src/checks/acknowledgements';
import type { ManifestSet } from '../../cluster/manifests/manifest-files';
import { decodeManifests } from '../manifests/decode-manifests';

/** Codes of references to nothing, which an object that is invalid and left out would cause as well. */
const MISSING = /\/missing-|\/no-pods$/;

/**
 * Everything that is wrong with some manifests: their syntax, each object, and all of them together, less what an object's own annotation
 * calls fine. Errors first.
 */
export function validateManifests({ objects, findings }: ManifestSet): AnnotatedFindings {
  const decoded = decodeManifests(objects);
  const together = checkObjects(decoded.checked).filter(({ code }) => decoded.invalid === 0 || !MISSING.test(code));
  const { open, acknowledged } = sortByAnnotations(
    [...findings, ...decoded.findings, ...together],
    objects.map(({ object }) => object),
  );
  const sorted = (['error', 'warning', 'info'] as const).flatMap((severity) =>
    open.filter((finding) => finding.severity === severity),
  );
  return { open: sorted, acknowledged };
}
