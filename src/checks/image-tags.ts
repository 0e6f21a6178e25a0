import type { KubeObject } from '../api/meta';
import { type Problem, warning } from '../api/problem';
import { podSpecs } from './pod-specs';

/** Images whose tag may point elsewhere tomorrow: two pods of one workload could run unlike code. */
export function imageTags(object: KubeObject): readonly Problem[] {
  const problems: Problem[] = [];
  for (const { containers } of podSpecs(object)) {
    for (const { field, image } of containers) {
      const reason = mutableTagOf(image);
      if (reason === undefined) continue;
      problems.push(warning(field, 'images/mutable-tag', `${image} has ${reason}`, 'write a release tag or a digest'));
    }
  }
  return problems;
}

/** Why what runs under `image` may change without a change of the manifest; undefined when it cannot be told from the name. */
export function mutableTagOf(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  if (tag === undefined) return 'no tag, which means latest';
  return /^(latest|main|master|nightly|dev|edge|stable)$/.test(tag) ? `the moving tag ${tag}` : undefined;
}
