import { decodeKind } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import { checkObjects } from '../../../src/checks';
import { boosterChildren, expandModelBooster } from '../../../src/expand';
import type { ManifestObject } from '../../../src/read-manifests';
import { decodeManifests } from '../manifests/decode-manifests';

/**
 * What a synth of these objects would end with, so that the program says it rather than fails: names of what is not among them, models
 * that do not fit.
 *
 * @returns codes of each object, sorted; of a ModelBooster those of its children.
 */
export function failingChecks(objects: readonly KubeObject[]): ReadonlyMap<KubeObject, readonly string[]> {
  // A finding names a file and a line; here the number of the object stands for both.
  const written = objects.flatMap((object, line) => whatIsWritten(object).map((each) => ({ object: each, file: '', line })));
  const codes = new Map<KubeObject, Set<string>>();
  for (const { severity, code, file = '' } of checkObjects(decodeManifests(written).checked)) {
    const object = objects[Number(file.slice(1))];
    if (severity !== 'error' || object === undefined) continue;
    const known = codes.get(object) ?? new Set();
    codes.set(object, known);
    known.add(code);
  }
  return new Map([...codes].map(([object, set]) => [object, [...set].sort()]));
}

function whatIsWritten(object: KubeObject): readonly ManifestObject['object'][] {
  if (apiKindOf(object) !== 'ModelBooster') return [object];
  const booster = decodeKind('ModelBooster', object);
  const expansion = booster.kind === 'valid' ? expandModelBooster(booster.value) : undefined;
  return expansion?.kind === 'expanded' ? boosterChildren(expansion) : [];
}
