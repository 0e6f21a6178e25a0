import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf, isApiKind } from '../../../src/api/kinds';
import type { CheckedObject } from '../../../src/checks';
import type { Finding } from '../../../src/errors';
import type { ManifestObject } from '../../../src/read-manifests';

/** Objects as checks take them, and what is wrong with each alone. */
export interface DecodedManifests {
  /** Objects of our kinds decoded, all others as they are; invalid ones are left out. */
  readonly checked: readonly CheckedObject[];
  readonly findings: readonly Finding[];
  /** How many objects were left out. */
  readonly invalid: number;
}

/** Reads each object of our kinds as the API server would; files are named with the line where the object starts. */
export function decodeManifests(objects: readonly ManifestObject[]): DecodedManifests {
  const checked: CheckedObject[] = [];
  const findings: Finding[] = [];
  let invalid = 0;
  for (const { object, file, line } of objects) {
    const place = `${file}:${line}`;
    // A wrong group on a kind of ours is a mistake, not another kind.
    if (apiKindOf(object) === undefined && !isApiKind(object.kind)) {
      checked.push({ object, file: place });
      continue;
    }
    const outcome = decodeObject(object, place);
    findings.push(...outcome.findings);
    if (outcome.kind === 'valid') checked.push({ object: outcome.value, file: place });
    else invalid += 1;
  }
  return { checked, findings, invalid };
}
