import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { KvasirError } from '../../src/errors';
import { isDiskError } from './disk-error';
import { type Http, PassingError, type Retries, reasonOf } from './http';
import { PartFile, type Piece } from './part-file';
import type { Progress } from './progress';
import type { RemoteFile } from './remote-file';
import { allEnded, type Slots } from './slots';
import { whatIsWrong } from './verify';

export interface FetchContext {
  readonly http: Http;
  readonly slots: Slots;
  readonly progress: Progress;
  /** What an answer that is no success means. */
  readonly refusal: (status: number) => Error;
  readonly retries: () => Retries;
}

/** Content that is wrong twice is wrong at the server. */
const ATTEMPTS = 2;

/** Whether a whole file of this size is there: only whole and right ones get their name. */
export async function isThere(path: string, { bytes }: Pick<RemoteFile, 'bytes'>): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile() && found.size === bytes,
    () => false,
  );
}

/**
 * Fetches one file in pieces, several at a time, going on where an earlier process ended. The file has its name when all of it is there and
 * its digest is right.
 *
 * @throws KvasirError `download/digest` when the content is wrong twice.
 */
export async function fetchFile(file: RemoteFile, path: string, context: FetchContext): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    const part = await PartFile.open(path, file.bytes, identityOf(file));
    context.progress.found(part.done);
    try {
      await fetchPieces(file, part, context);
    } catch (error) {
      await part.leave();
      throw error;
    }
    const wrong = await whatIsWrong(`${path}.part`, file);
    if (wrong === undefined) {
      await part.finish();
      return;
    }
    context.progress.lost(part.done);
    await part.restart();
    await part.leave();
    if (attempt === ATTEMPTS) {
      throw new KvasirError({
        code: 'download/digest',
        message: `${file.path} is not what its repository says: ${wrong}`,
        remedy: 'look whether a proxy or mirror changes it, and start again',
      });
    }
  }
}

/** The first piece shows whether the server sends parts of a file; the others follow beside it then. Nothing goes on when it has ended. */
async function fetchPieces(file: RemoteFile, part: PartFile, context: FetchContext): Promise<void> {
  const [first, ...others] = part.pieces.filter((piece) => piece.done < piece.end - piece.start);
  if (first === undefined) return;
  const fetch = (piece: Piece, onPart: () => void): Promise<void> =>
    context.slots.run(() => fetchPiece(file, part, piece, context, onPart));
  let opened: Promise<void> | undefined;
  await new Promise<void>((resolve) => {
    opened = fetch(first, resolve);
    opened.then(resolve, resolve);
  });
  const missing = others.filter((piece) => piece.done < piece.end - piece.start);
  await allEnded([opened!, ...missing.map((piece) => fetch(piece, () => undefined))]);
}

/** @param onPart called when the server sends parts; one that sends the whole file has filled all pieces when this has ended. */
async function fetchPiece(
  file: RemoteFile,
  part: PartFile,
  piece: Piece,
  { http, slots, progress, refusal, retries }: FetchContext,
  onPart: () => void,
): Promise<void> {
  const tries = retries();
  await tries.run(async () => {
    slots.check();
    const from = piece.start + piece.done;
    if (from >= piece.end) return;
    const { status, headers, body } = await http.get(file.url, { range: `bytes=${from}-${piece.end - 1}` });
    if (status === 206) {
      const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(String(headers['content-range']));
      if (range === null || Number(range[1]) !== from || (range[2] !== '*' && Number(range[2]) !== file.bytes)) {
        await body.dump();
        throw new PassingError(`the answer for ${file.path} is another part than was asked for`);
      }
      onPart();
      await take(body, piece.end - from, async (bytes) => {
        await part.write(piece, bytes);
        progress.fetched(bytes.length);
        tries.progressed();
        slots.check();
      });
      return;
    }
    if (status !== 200) {
      await body.dump();
      throw refusal(status);
    }
    // Parts are nothing to this server: what is there is fetched again with the rest.
    progress.lost(part.done);
    await part.restart();
    let index = 0;
    await take(body, file.bytes, async (bytes) => {
      for (let rest = bytes; rest.length > 0; ) {
        const next = part.pieces[index]!;
        const room = next.end - next.start - next.done;
        await part.write(next, rest.subarray(0, room));
        rest = rest.subarray(room);
        if (next.done === next.end - next.start) index += 1;
      }
      progress.fetched(bytes.length);
      slots.check();
    });
  });
}

/** Hands over a body of a length that is known. @throws PassingError when it is shorter or longer, or breaks off. */
async function take(body: AsyncIterable<unknown>, length: number, handle: (bytes: Buffer) => Promise<void>): Promise<void> {
  let taken = 0;
  try {
    for await (const chunk of body) {
      const bytes = chunk as Buffer;
      if (taken + bytes.length > length) throw new PassingError(`an answer is longer than the ${length} bytes asked for`);
      taken += bytes.length;
      await handle(bytes);
    }
  } catch (error) {
    // Undici's own errors have codes of their own.
    if (error instanceof PassingError || error instanceof KvasirError || isDiskError(error)) throw error;
    throw new PassingError(`the connection broke (${reasonOf(error)})`);
  }
  if (taken < length) throw new PassingError(`an answer ended after ${taken} of ${length} bytes`);
}

function identityOf({ bytes, digest, url }: RemoteFile): string {
  return `${bytes} ${digest === undefined ? url : `${digest.kind}:${digest.hex}`}`;
}
