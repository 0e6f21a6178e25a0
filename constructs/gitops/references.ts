import type { KubeObject } from '../../src/api/meta';
import { checkReferences } from '../../src/checks/references';
import type { Finding } from '../../src/errors';
import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';

/** Only possible mistakes in a folder that somebody else wrote; in a stack, somebody just wrote them. */
const ALWAYS_ERRORS = new Set(['autoscaling/two-scalers']);
/** Codes of references to nothing. */
const MISSING = /\/missing-/;

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
  const findings = checkReferences(valid.map((entry) => ({ object: decoded.get(entry) ?? entry.object, file: entry.path })));
  return findings.flatMap(({ file, ...finding }): FoundAt[] => {
    const owner = owners.get(file ?? '');
    if (owner === undefined) return [];
    // Two of one name in one chart share a file, which is reported as such.
    if (finding.code === 'references/duplicate' && owner !== valid.find(({ path }) => path === file)) return [];
    // An invalid object was left out and would look missing; it is reported itself.
    if (valid.length < rendered.length && MISSING.test(finding.code)) return [];
    return [{ construct: owner.source, finding: { ...finding, object: owner.place, severity: severityOf(finding) } }];
  });
}

function severityOf({ code, severity }: Finding): Finding['severity'] {
  return ALWAYS_ERRORS.has(code) ? 'error' : severity;
}
