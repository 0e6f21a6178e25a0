import type { KubeObject } from '../api/meta';
import type { Finding } from '../errors';
import { Annotations } from '../labels';

/** Codes of references to nothing, which an object that is invalid and left out would cause as well. */
export const ABSENCES = /\/missing-|\/no-pods$/;
/** Codes of what nobody knows for certain who only has a part of the manifests. */
const PERHAPS_FINE = /\/missing-|^fit\//;

/**
 * How bad a finding is at an object that a stack passes on from somebody else's manifests: what it names may be elsewhere in the cluster,
 * and its pods may well run.
 */
export function severityInPart({ code, severity }: Finding): Finding['severity'] {
  return severity === 'error' && PERHAPS_FINE.test(code) ? 'warning' : severity;
}

/** The annotation by which `kvasir validate` knows such an object again. */
export const PASSED_ON: Readonly<Record<string, string>> = { [Annotations.passedOn]: 'true' };

/** Whether a stack passed the object on from somebody else's manifests, and found that what it names is not there. */
export function isPassedOn({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[Annotations.passedOn] === PASSED_ON[Annotations.passedOn];
}
