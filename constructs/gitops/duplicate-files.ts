import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';

/** Objects that would share a file; letters' case does not tell files apart on every system. */
export function duplicateFiles(rendered: readonly RenderedObject[]): readonly FoundAt[] {
  const owners = new Map<string, RenderedObject>();
  const found: FoundAt[] = [];
  for (const entry of rendered) {
    const key = entry.path.toLowerCase();
    const first = owners.get(key);
    if (first === undefined) {
      owners.set(key, entry);
      continue;
    }
    found.push({
      construct: entry.source,
      finding: {
        code: 'gitops/duplicate-file',
        severity: 'error',
        object: entry.place,
        message: `would overwrite ${first.path} of ${first.place}`,
        remedy: 'give one of them another name, or put it into another chart',
      },
    });
  }
  return found;
}
