import { describeObject } from '../../../src/api/meta';
import { checkObjects, sortByAnnotations } from '../../../src/checks';
import type { AnnotatedFindings } from '../../../src/checks/acknowledgements';
import { ABSENCES, isPassedOn, severityInPart } from '../../../src/checks/part-of-cluster';
import type { ManifestSet } from '../../cluster/manifests/manifest-files';
import { decodeManifests } from '../manifests/decode-manifests';

/**
 * Everything that is wrong with some manifests: their syntax, each object, and all of them together, less what an object's own annotation
 * calls fine. Errors first.
 */
export function validateManifests({ objects, findings }: ManifestSet): AnnotatedFindings {
  const decoded = decodeManifests(objects);
  const passedOn = new Set(objects.flatMap(({ object }) => (isPassedOn(object) ? [describeObject(object)] : [])));
  const together = checkObjects(decoded.checked)
    .filter(({ code }) => decoded.invalid === 0 || !ABSENCES.test(code))
    .map((finding) => (passedOn.has(finding.object ?? '') ? { ...finding, severity: severityInPart(finding) } : finding));
  const { open, acknowledged } = sortByAnnotations(
    [...findings, ...decoded.findings, ...together],
    objects.map(({ object }) => object),
  );
  const sorted = (['error', 'warning', 'info'] as const).flatMap((severity) =>
    open.filter((finding) => finding.severity === severity),
  );
  return { open: sorted, acknowledged };
}
