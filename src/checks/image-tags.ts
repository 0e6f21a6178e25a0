import { type Problem, warning } from '../api/problem';
import { podSpecs } from './pod-specs';

/** Images whose tag may point elsewhere tomorrow: two pods of one workload could run unlike code. */
export function imageTags(object: object): readonly Problem[] {
  return podSpecs(object)
    .flatMap(({ containers }) => containers)
    .flatMap(({ field, image }) => {
      const reason = mutableTagOf(image);
      return reason === undefined
        ? []
        : [warning(field, 'images/mutable-tag', `${image} has ${reason}`, 'write a release tag or a digest')];
    });
}

/** Why what runs under `image` may change without a change of the manifest; undefined when it cannot be told from the name. */
export function mutableTagOf(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  if (tag === undefined) return 'no tag, which means latest';
  return /^(latest|main|master|nightly|dev|edge|stable)$/.test(tag) ? `the moving tag ${tag}` : undefined;
}
