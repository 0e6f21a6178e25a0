import type { KubeObject } from '../../src/api/meta';
import { checkObjects } from '../../src/checks/check-objects';
import { ABSENCES, severityInPart } from '../../src/checks/part-of-cluster';
import type { Finding } from '../../src/errors';
import { isReadFromManifests } from '../kthena/read-from-manifests';
import type { FoundAt } from './found-at';
import { type RenderedObject, setPassedOn } from './rendered-object';

/** Only possible mistakes in a folder that somebody else wrote; in a stack, somebody just wrote them. */
const ALWAYS_ERRORS = new Set(['autoscaling/two-scalers']);

/**
 * What is wrong between the objects of a stack.
 *
 * @param decoded value of each object of our kinds that is valid; an object of ours that is not among them is invalid.
 */
export function references(
  rendered: readonly RenderedObject[],
  decoded: ReadonlyMap<RenderedObject, KubeObject>,
  isOurs: (object: KubeObject) => boolean,
): readonly FoundAt[] {
  const valid = rendered.filter((entry) => decoded.has(entry) || !isOurs(entry.object));
  const owners = new Map(valid.map((entry) => [entry.path, entry]));
  const findings = checkObjects(valid.map((entry) => ({ object: decoded.get(entry) ?? entry.object, file: entry.path })));
  return findings.flatMap(({ file, ...finding }): FoundAt[] => {
    const owner = owners.get(file ?? '');
    if (owner === undefined) return [];
    // Two of one name in one chart share a file, which is reported as such.
    if (finding.code === 'references/duplicate' && owner !== valid.find(({ path }) => path === file)) return [];
    // An invalid object was left out and would look missing; it is reported itself.
    if (valid.length < rendered.length && ABSENCES.test(finding.code)) return [];
    const severity = severityOf(finding, owner);
    if (severity === 'warning' && finding.severity === 'error') setPassedOn(owner);
    return [{ construct: owner.source, finding: { ...finding, object: owner.place, severity } }];
  });
}

function severityOf(finding: Finding, { source }: RenderedObject): Finding['severity'] {
  if (ALWAYS_ERRORS.has(finding.code)) return 'error';
  return isReadFromManifests(source) ? severityInPart(finding) : finding.severity;
}
