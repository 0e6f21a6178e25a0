import { formatDuration } from '../../../src/duration';
import type { Scaled } from './preview';

/** A change of replicas as people read it. */
export function scaledLine({ target, from, to, atMs }: Scaled): string {
  const at = formatDuration(Math.round(atMs / 1000) * 1000);
  return `${at}: ${target} scaled ${to > from ? 'up' : 'down'} from ${from} to ${to}`;
}
