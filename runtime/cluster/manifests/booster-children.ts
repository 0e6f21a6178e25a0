import { decodeKind } from '../../../src/api/decode-object';
import { describeObject, type KubeObject } from '../../../src/api/meta';
import type { Problem } from '../../../src/api/problem';
import type { Finding } from '../../../src/errors';
import { boosterChildren, expandModelBooster } from '../../../src/expand/expand-model-booster';
import { WORKLOAD_GROUP } from '../../../src/labels';
import type { ManifestObject } from '../../../src/read-manifests';
import { refKeyOf, refOf } from '../object-source';

/**
 * Stands for Kthena's ModelBooster controller: adds what it makes of each booster, as if the booster's own file said it. A booster whose
 * new version is refused keeps the children of its last good one.
 */
export class BoosterChildren {
  private lastGood = new Map<string, readonly KubeObject[]>();

  /** @returns all objects, children after their booster, and what is wrong with boosters that are valid by themselves. */
  addTo(manifests: readonly ManifestObject[]): {
    readonly manifests: readonly ManifestObject[];
    readonly findings: readonly Finding[];
  } {
    const findings: Finding[] = [];
    const next = new Map<string, readonly KubeObject[]>();
    const counting = new Map(manifests.filter(isBooster).map((manifest) => [keyOf(manifest), manifest]));
    const withChildren = manifests.flatMap((manifest) => {
      const key = keyOf(manifest);
      if (counting.get(key) !== manifest) return [manifest];
      const { children, problems } = childrenOf(manifest);
      findings.push(...problems.map((problem) => placed(problem, manifest)));
      const made = children ?? this.lastGood.get(key) ?? [];
      next.set(key, made);
      return [manifest, ...made.map((object) => ({ ...manifest, object }))];
    });
    this.lastGood = next;
    return { manifests: withChildren, findings };
  }
}

const keyOf = ({ object }: ManifestObject): string => refKeyOf(refOf(object));

function isBooster({ object }: ManifestObject): boolean {
  const { group, kind } = refOf(object);
  return group === WORKLOAD_GROUP && kind === 'ModelBooster';
}

function childrenOf({ object }: ManifestObject): {
  readonly children?: readonly KubeObject[];
  readonly problems: readonly Problem[];
} {
  const booster = decodeKind('ModelBooster', object);
  // Told when the booster itself is admitted.
  if (booster.kind === 'invalid') return { problems: [] };
  const expansion = expandModelBooster(booster.value);
  return expansion.kind === 'expanded'
    ? { children: boosterChildren(expansion), problems: expansion.problems }
    : { problems: expansion.problems };
}

function placed(problem: Problem, { file, line, object }: ManifestObject): Finding {
  return { file: `${file}:${line}`, object: describeObject(object), ...problem };
}
