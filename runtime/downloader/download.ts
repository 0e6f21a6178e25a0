import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { KvasirError } from '../../src/errors';
import { readCompletion, writeCompletion } from './completion';
import { type FetchContext, fetchFile, isThere } from './fetch-file';
import { FolderLock, type LockTimes } from './folder-lock';
import { Http, PassingError, Retries } from './http';
import { huggingFaceModel, refusal } from './hugging-face';
import { type FilePatterns, isWanted } from './patterns';
import { Progress, sizeText } from './progress';
import type { RemoteFile, RemoteModel } from './remote-file';
import type { DownloadSettings } from './settings';
import { allEnded, Slots } from './slots';

export interface DownloadOptions {
  readonly repository: string;
  readonly settings: DownloadSettings;
  readonly folder: string;
  /** Connections at a time, over all files. */
  readonly workers: number;
  readonly patterns: FilePatterns;
  /** Gets lines for people. */
  readonly say: (line: string) => void;
  /** Wait after a first failure, doubled each time. @default 1 s */
  readonly firstRetryMs?: number;
  readonly lock?: LockTimes;
}

const TELL_MS = 10_000;

/**
 * Brings a repository into a folder: what is there already stays, what is half there goes on, and several processes with one folder do it
 * once. Files of other revisions that the repository does not have any more are left alone.
 *
 * @throws KvasirError `download/*` for what no later try would mend, and when tries were in vain.
 */
export async function downloadRepository(options: DownloadOptions): Promise<void> {
  const { repository, settings, folder, say } = options;
  await mkdir(folder, { recursive: true });
  const http = new Http(settings.endpoint, settings.token);
  const retries = (): Retries =>
    new Retries(undefined, options.firstRetryMs, ({ message }, waitMs) =>
      say(`${message}; trying again in ${(waitMs / 1000).toFixed(1)} s`),
    );
  try {
    const model = await modelOrWhatIsThere(options, http, retries());
    if (model === 'there') return;
    const isDone = async (): Promise<boolean> => {
      const known = await readCompletion(folder);
      return known?.revision === model.revision && known.patterns === JSON.stringify(options.patterns);
    };
    if (await isDone()) {
      say(`${repository} is there already, at ${model.revision}`);
      return;
    }
    const waiting = (holder: string): void => say(`${holder} downloads into ${folder}; waiting`);
    const lock = await FolderLock.take(folder, waiting, isDone, options.lock);
    if (lock === undefined) {
      say(`${repository} was downloaded by another, at ${model.revision}`);
      return;
    }
    try {
      await fetchModel(model, options, { http, retries, lock });
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (!(error instanceof PassingError)) throw error;
    throw new KvasirError({
      code: 'download/unreachable',
      field: '--source',
      message: `${repository} could not be fetched: ${error.message}`,
      remedy: 'look whether the pod may reach it; what came so far is kept',
    });
  } finally {
    await http.close();
  }
}

/** A folder that is complete serves where the hub cannot be asked: an engine then starts with what it had. */
async function modelOrWhatIsThere(options: DownloadOptions, http: Http, retries: Retries): Promise<RemoteModel | 'there'> {
  const { repository, settings, patterns, folder, say } = options;
  try {
    const model = await huggingFaceModel(repository, settings, http, retries);
    const files = model.files.filter(({ path }) => isWanted(path, patterns));
    if (files.length === 0) {
      throw new KvasirError({
        code: 'download/no-files',
        field: '--include',
        message: `none of the ${model.files.length} files of ${repository} is wanted`,
        remedy: 'correct --include and --exclude',
      });
    }
    return { ...model, files };
  } catch (error) {
    const known = error instanceof PassingError ? await readCompletion(folder) : undefined;
    if (known?.source !== repository || known.patterns !== JSON.stringify(patterns)) throw error;
    say(`${(error as Error).message}; taking what is there, at ${known.revision}`);
    return 'there';
  }
}

async function fetchModel(
  model: RemoteModel,
  options: DownloadOptions,
  { http, retries, lock }: Pick<FetchContext, 'http' | 'retries'> & { readonly lock: FolderLock },
): Promise<void> {
  const { repository, settings, folder, workers, patterns, say } = options;
  const missing: RemoteFile[] = [];
  for (const file of model.files) if (!(await isThere(join(folder, file.path), file))) missing.push(file);
  const bytes = missing.reduce((sum, file) => sum + file.bytes, 0);
  await requireRoom(folder, bytes);
  const progress = new Progress(
    model.files.reduce((sum, file) => sum + file.bytes, 0),
    say,
  );
  progress.found(model.files.filter((file) => !missing.includes(file)).reduce((sum, file) => sum + file.bytes, 0));
  const telling = setInterval(() => progress.tell(), TELL_MS);
  const context: FetchContext = {
    http,
    progress,
    retries,
    slots: new Slots(workers),
    refusal: (status) => refusal(status, '', { repository, ...settings }),
  };
  const files = new Slots(workers);
  try {
    // The largest first: the end is then made of small ones.
    const inOrder = [...missing].sort((a, b) => b.bytes - a.bytes);
    await allEnded(inOrder.map((file) => files.run(() => fetchFile(file, join(folder, file.path), context))));
    await lock.check();
    await writeCompletion(folder, model, { source: repository, patterns: JSON.stringify(patterns) });
    progress.end(model.files.length);
  } finally {
    clearInterval(telling);
  }
}

/** @throws KvasirError `download/no-room`. */
async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes) return;
  throw new KvasirError({
    code: 'download/no-room',
    field: '--output-dir',
    message: `${folder} has room for ${sizeText(bavail * bsize)}, and ${sizeText(bytes)} are missing`,
    remedy: 'make the volume larger, or leave files out by --exclude',
  });
}
