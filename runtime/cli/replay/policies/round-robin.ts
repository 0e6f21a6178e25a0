import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';

/** One pod after the other. */
export function roundRobin(): Profile {
  let turn = 0;
  return rival('round-robin', ({ candidates }, out) => {
    const next = turn++ % candidates.length;
    candidates.forEach((_, i) => {
      out[i] = i === next ? 0 : 1;
    });
  });
}
