import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';

/** Objects that would share a file, for certain or where letters' case does not tell files apart. */
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
    const isSame = entry.path === first.path;
    found.push({
      construct: entry.source,
      finding: {
        code: isSame ? 'gitops/duplicate-file' : 'gitops/file-case',
        severity: 'error',
        object: entry.place,
        message: `would overwrite ${first.path} of ${first.place}${isSame ? '' : " where letters' case does not tell files apart"}`,
        remedy: 'give one of them another name, or put it into another chart',
      },
    });
  }
  return found;
}
