import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { KvasirError } from '../../src/errors';

/** As Kthena's downloader has it, so that both may share a volume. */
const NAME = '.lock';
const STALE_MS = 15_000;
const TOUCH_MS = 5_000;

export interface LockTimes {
  /** Age of a lock from which on its holder is taken to be dead. @default 15 s */
  readonly staleMs?: number;
  /** Between two looks at a lock that another holds. @default 2 s */
  readonly pollMs?: number;
}

/**
 * The right to write into a folder of a shared volume: a file that only one can create, kept young while its holder lives. No lock of the
 * operating system is used: over NFS and the like they may not reach the other node.
 */
export class FolderLock {
  private readonly toucher: NodeJS.Timeout;
  private isLost = false;

  private constructor(
    private readonly file: string,
    private readonly owner: string,
    touchMs: number,
  ) {
    this.toucher = setInterval(() => void this.touch(), touchMs);
    this.toucher.unref();
  }

  /** @param onWait called when another holds it, each time it is looked at. @param isDone the wait is over without the lock. */
  static async take(
    folder: string,
    onWait: (holder: string) => void,
    isDone: () => Promise<boolean>,
    { staleMs = STALE_MS, pollMs = 2_000 }: LockTimes = {},
  ): Promise<FolderLock | undefined> {
    const file = join(folder, NAME);
    const owner = `${hostname()} ${process.pid} ${randomUUID()}`;
    for (;;) {
      const isOurs = await create(file, owner);
      if (await isDone()) {
        if (isOurs) await rm(file, { force: true });
        return undefined;
      }
      if (isOurs) return new FolderLock(file, owner, Math.min(TOUCH_MS, staleMs / 3));
      const ageMs = await ageOf(file, folder);
      if (ageMs === undefined) continue;
      if (ageMs > staleMs) {
        await takeAway(file, ageMs, folder);
        continue;
      }
      onWait((await readFile(file, 'utf8').catch(() => '')).split(' ')[0] || 'another');
      await wait(pollMs);
    }
  }

  /** @throws when somebody else took it, since this process stood still for too long. */
  async check(): Promise<void> {
    if (!this.isLost && (await readFile(this.file, 'utf8').catch(() => '')) === this.owner) return;
    this.isLost = true;
    throw new KvasirError({
      code: 'download/lock-lost',
      field: '--output-dir',
      message: `the lock ${this.file} went to another while this process stood still`,
      remedy: 'start again',
    });
  }

  async release(): Promise<void> {
    clearInterval(this.toucher);
    const isOurs = (await readFile(this.file, 'utf8').catch(() => '')) === this.owner;
    if (isOurs) await rm(this.file, { force: true });
  }

  private async touch(): Promise<void> {
    const now = new Date();
    await utimes(this.file, now, now).catch(() => undefined);
  }
}

async function create(file: string, owner: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600);
    await handle.writeFile(owner);
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** By the clock of who keeps the files, which may differ from ours. @returns undefined when it is gone. */
async function ageOf(file: string, folder: string): Promise<number | undefined> {
  const probe = join(folder, `.clock-${randomUUID()}`);
  try {
    await writeFile(probe, '');
    const [now, held] = await Promise.all([stat(probe), stat(file)]);
    return now.mtimeMs - held.mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

/** Of several that find it dead, one renames it; what it renamed is looked at again, since a new one may have come in between. */
async function takeAway(file: string, ageMs: number, folder: string): Promise<void> {
  const aside = join(folder, `.dead-${randomUUID()}`);
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const isDead = ((await ageOf(aside, folder)) ?? 0) >= ageMs;
  if (!isDead) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}
