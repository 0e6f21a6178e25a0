import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';

/** One piece of a file that is fetched by itself. */
export interface Piece {
  /** From this byte, to before that one. */
  readonly start: number;
  readonly end: number;
  /** Bytes of it that are there. */
  done: number;
}

interface State {
  /** What the pieces are of: another revision of the file begins anew. */
  readonly identity: string;
  readonly done: readonly number[];
}

const PIECE_BYTES = 64 * 2 ** 20;
/** Between two notes of how far it is: after a crash so much may be fetched again. */
const NOTE_MS = 2_000;

/** A file that is not whole: its bytes beside a note of which of them are there. */
export class PartFile {
  private notedMs = 0;
  private noting: Promise<void> = Promise.resolve();

  private constructor(
    private readonly path: string,
    private readonly identity: string,
    readonly pieces: readonly Piece[],
    private readonly handle: FileHandle,
  ) {}

  /** Goes on with what an earlier process left, where it is of the same content. @param path of the whole file. */
  static async open(path: string, bytes: number, identity: string): Promise<PartFile> {
    const known = await readState(`${path}.part.json`, identity);
    const handle = await open(`${path}.part`, known === undefined ? 'w+' : 'r+').catch(() => open(`${path}.part`, 'w+'));
    const size = (await handle.stat()).size;
    const pieces: Piece[] = [];
    for (let start = 0; start < bytes; start += PIECE_BYTES) {
      const end = Math.min(bytes, start + PIECE_BYTES);
      const noted = known?.done[pieces.length] ?? 0;
      // What the note says and the file has not was never written.
      pieces.push({ start, end, done: Math.max(0, Math.min(noted, end - start, size - start)) });
    }
    return new PartFile(path, identity, pieces, handle);
  }

  get done(): number {
    return this.pieces.reduce((sum, piece) => sum + piece.done, 0);
  }

  /** Writes what comes next of a piece. */
  async write(piece: Piece, bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.handle.write(bytes, at, bytes.length - at, piece.start + piece.done);
      at += bytesWritten;
      piece.done += bytesWritten;
    }
    if (Date.now() - this.notedMs >= NOTE_MS) await this.note();
  }

  /** Forgets what is there. */
  async restart(): Promise<void> {
    for (const piece of this.pieces) piece.done = 0;
    await this.note();
  }

  /** Puts the whole file in its place. */
  async finish(): Promise<void> {
    await this.noting;
    await this.handle.sync();
    await this.handle.close();
    await rename(`${this.path}.part`, this.path);
    await rm(`${this.path}.part.json`, { force: true });
  }

  /** Leaves it for a later process. */
  async leave(): Promise<void> {
    await this.note();
    await this.handle.close();
  }

  private note(): Promise<void> {
    this.notedMs = Date.now();
    const state: State = { identity: this.identity, done: this.pieces.map(({ done }) => done) };
    const file = `${this.path}.part.json`;
    // One after the other, and never half written.
    this.noting = this.noting.then(async () => {
      await writeFile(`${file}.new`, JSON.stringify(state));
      await rename(`${file}.new`, file);
    });
    return this.noting;
  }
}

async function readState(file: string, identity: string): Promise<State | undefined> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as State;
    return state.identity === identity && Array.isArray(state.done) ? state : undefined;
  } catch {
    return undefined;
  }
}
