import { type FSWatcher, type Stats, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';

// Real time, not the cluster's clock: the files are changed by a person or a build, however fast the cluster runs.
const DEBOUNCE_MS = 50;
const POLL_MS = 2000;

/**
 * Calls `onChange` some 50 ms after files at or below `paths` were changed, and every 2 s besides, since network and overlay file
 * systems report nothing. It keeps no process alive.
 */
export class PathWatcher {
  private readonly watches = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>();
  private readonly poll: NodeJS.Timeout;
  private debounce: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly paths: readonly string[],
    private readonly onChange: () => void,
  ) {
    this.poll = setInterval(() => {
      void this.start();
      this.onChange();
    }, POLL_MS);
    this.poll.unref();
  }

  /** Sets the watches that are missing. Resolves when they are set. */
  async start(): Promise<void> {
    for (const path of this.paths) {
      // An editor replaces a file by renaming: its folder sees that, a watch on the file would follow the old one.
      const isFolder = (await statOf(path))?.isDirectory() ?? false;
      const folder = isFolder ? path : dirname(path);
      const inode = (await statOf(folder))?.ino;
      const old = this.watches.get(folder);
      if (this.isClosed || (old !== undefined && old.inode === inode)) continue;
      this.unwatch(folder);
      if (inode !== undefined) this.watch(folder, inode, isFolder);
    }
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.poll);
    clearTimeout(this.debounce);
    for (const folder of [...this.watches.keys()]) this.unwatch(folder);
  }

  private watch(folder: string, inode: number, recursive: boolean): void {
    try {
      const watcher = watch(folder, { recursive, persistent: false }, () => this.changed());
      // Gone or out of watches: the poll goes on, and sets the watch again when it can.
      watcher.on('error', () => this.unwatch(folder));
      this.watches.set(folder, { watcher, inode });
    } catch {
      // No watch here; the poll sees changes.
    }
  }

  private unwatch(folder: string): void {
    this.watches.get(folder)?.watcher.close();
    this.watches.delete(folder);
  }

  private changed(): void {
    clearTimeout(this.debounce);
    this.debounce = setTimeout(this.onChange, DEBOUNCE_MS);
    this.debounce.unref();
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch {
    return undefined;
  }
}
