import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIndex } from './folder-index';
import { FOREIGN_FILE } from './folder-swap';
import type { FoundAt } from './found-at';
import { manifestText } from './manifest-text';
import type { RenderedObject } from './rendered-object';

/** Files in the output folder that no synth wrote, and that stand where objects would go. */
export function foreignFiles(folder: string, rendered: readonly RenderedObject[]): readonly FoundAt[] {
  if (!existsSync(folder)) return [];
  const owned = new Set(readIndex(folder));
  return rendered.flatMap((entry): readonly FoundAt[] => {
    const file = join(folder, entry.path);
    if (owned.has(entry.path) || !existsSync(file) || holds(file, entry)) return [];
    const finding = {
      code: FOREIGN_FILE,
      severity: 'error' as const,
      object: entry.place,
      message: `a file that synth did not write is in the way: ${file}`,
      remedy: 'move it, or acknowledge this to have it overwritten',
    };
    return [{ construct: entry.source, finding }];
  });
}

/** What cannot be read is told when it is to be written. */
function holds(file: string, { object }: RenderedObject): boolean {
  try {
    return readFileSync(file, 'utf8') === manifestText(object);
  } catch {
    return true;
  }
}
