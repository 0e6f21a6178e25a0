import type { KubeObject } from '../../src/api/meta';
import { checkObjects } from '../../src/checks/check-objects';
import type { Finding } from '../../src/errors';
import { isReadFromManifests } from '../kthena/read-from-manifests';
import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';

/** Only possible mistakes in a folder that somebody else wrote; in a stack, somebody just wrote them. */
const ALWAYS_ERRORS = new Set(['autoscaling/two-scalers']);
/** Codes of references to nothing. */
const MISSING = /\/missing-/;
/** Codes of what nobody knows for certain who only has a part of the manifests. */
const PERHAPS_FINE = /\/missing-|^fit\//;

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
    if (valid.length < rendered.length && MISSING.test(finding.code)) return [];
    return [{ construct: owner.source, finding: { ...finding, object: owner.place, severity: severityOf(finding, owner) } }];
  });
}

function severityOf({ code, severity }: Finding, { source }: RenderedObject): Finding['severity'] {
  // A folder that somebody else wrote: what it names may be elsewhere in the cluster, and its pods may well run.
  if (severity === 'error' && PERHAPS_FINE.test(code) && isReadFromManifests(source)) return 'warning';
  return ALWAYS_ERRORS.has(code) ? 'error' : severity;
}
