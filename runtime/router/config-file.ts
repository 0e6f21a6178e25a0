import { readFile } from 'node:fs/promises';
import { type DecodedRouterConfig, parseRouterConfig } from '../../src/config/router-config';
import { PathWatcher } from '../lib/path-watcher';

/** A file must be the same for so long, in real milliseconds: a writer may be half-way. */
const SETTLE_MS = 100;

/**
 * Follows the router's configuration file: one that an editor or `cp` writes, and one in a mounted ConfigMap, where a link in its folder
 * is turned to a new folder.
 */
export class ConfigFile {
  private readonly watcher: PathWatcher;
  private content: string | undefined;
  private reading: Promise<void> = Promise.resolve();
  private isClosed = false;

  /** @param onContent told of each content that differs from the last one, valid or not, and of a file that cannot be read. */
  constructor(
    private readonly file: string,
    private readonly onContent: (decoded: DecodedRouterConfig) => void,
    private readonly parse: (text: string, file: string) => DecodedRouterConfig = parseRouterConfig,
  ) {
    this.watcher = new PathWatcher([file], () => {
      this.reading = this.reading.then(() => this.read());
    });
  }

  /** Resolves when changes are seen at once rather than by polling. */
  start(): Promise<void> {
    return this.watcher.start();
  }

  close(): void {
    this.isClosed = true;
    this.watcher.close();
  }

  private async read(): Promise<void> {
    let content = await this.contentNow();
    while (!this.isClosed && content !== this.content) {
      await new Promise<void>((resolve) => setTimeout(resolve, SETTLE_MS).unref());
      const again = await this.contentNow();
      if (again === content && !this.isClosed) {
        this.content = content;
        this.onContent(this.decoded(content));
      }
      content = again;
    }
  }

  private async contentNow(): Promise<string> {
    try {
      return `${CONTENT}${await readFile(this.file, 'utf8')}`;
    } catch (error) {
      return `${(error as NodeJS.ErrnoException).code}`;
    }
  }

  private decoded(content: string): DecodedRouterConfig {
    if (!content.startsWith(CONTENT)) return refused(this.file, `cannot be read (${content})`, 'put the file back');
    const text = content.slice(CONTENT.length);
    // An empty document is a valid one, and would open a router that is closed.
    if (text.trim() === '') return refused(this.file, 'is empty', 'write {} for the defaults');
    return this.parse(text, this.file);
  }
}

/** Tells a file's content from the code of the error that there was in its place. */
const CONTENT = '+';

function refused(file: string, message: string, remedy: string): DecodedRouterConfig {
  return { kind: 'invalid', findings: [{ code: 'config/cannot-read', severity: 'error', file, message, remedy }] };
}
