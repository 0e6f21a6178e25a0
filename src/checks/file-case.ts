import { warning } from '../api/problem';
import type { Finding } from '../errors';
import type { ObjectSet } from './object-set';

/** Files whose names differ in letters' case only: a checkout on some systems keeps one of them. */
export function* fileCase(set: ObjectSet): Iterable<Finding> {
  const first = new Map<string, string>();
  const told = new Set<string>();
  for (const object of set.objects) {
    // Objects of other people's files are placed with their line.
    const file = set.fileOf(object)?.replace(/:\d+$/, '');
    if (file === undefined) continue;
    const key = file.toLowerCase();
    const other = first.get(key) ?? file;
    first.set(key, other);
    if (other === file || told.has(file)) continue;
    told.add(file);
    yield set.finding(
      object,
      warning('', 'manifest/file-case', `its file differs from ${other} in letters' case only`, 'rename one of the files'),
    );
  }
}
