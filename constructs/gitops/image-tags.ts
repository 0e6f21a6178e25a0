import type { Finding } from '../../src/errors';
import { mutableTagOf } from '../images';
import { podSpecs } from './pod-specs';

/** Images whose tag may point elsewhere tomorrow: two pods of one workload could run unlike code. */
export function imageTags(object: object): readonly Finding[] {
  return podSpecs(object)
    .flatMap(({ containers }) => containers)
    .flatMap(({ field, image }) => {
      const reason = mutableTagOf(image);
      if (reason === undefined) return [];
      return [
        {
          code: 'images/mutable-tag',
          severity: 'warning',
          field,
          message: `${image} has ${reason}`,
          remedy: 'write a release tag or a digest',
        } as const,
      ];
    });
}
