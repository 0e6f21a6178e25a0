import { openSync } from 'node:fs';
import pino, { type DestinationStream } from 'pino';
import { KvasirError } from '../../../src/errors';

/** Written in blocks: a write call per request costs as much as the rest of the router together. */
const BLOCK_BYTES = 8192;
/** How long a line may wait for its block to fill, in real milliseconds. */
const FLUSH_MS = 1_000;

/** Standard output, standard error or a file, line by line. */
export class LineOutput {
  private isClosed = false;

  private constructor(
    private readonly stream: DestinationStream,
    private readonly file?: { end(): void },
  ) {}

  /**
   * @param output `stdout`, `stderr` or a file that is appended to. @param field of the configuration that named it. @param stream
   *   replaces it.
   * @throws KvasirError `access-log/cannot-open`.
   */
  static open(output: string, field: string, stream?: DestinationStream): LineOutput {
    if (stream !== undefined) return new LineOutput(stream);
    try {
      const fd = output === 'stdout' ? 1 : output === 'stderr' ? 2 : openSync(output, 'a', 0o644);
      const file = pino.destination({ dest: fd, minLength: BLOCK_BYTES, periodicFlush: FLUSH_MS, sync: true });
      return new LineOutput(file, file);
    } catch (error) {
      throw new KvasirError(
        {
          code: 'access-log/cannot-open',
          field,
          message: `cannot append to ${output} (${(error as NodeJS.ErrnoException).code})`,
          remedy: 'give stdout, stderr or a file in a folder that exists',
        },
        { cause: error },
      );
    }
  }

  /** What comes after `close` is dropped: a request may have begun before it. */
  write(line: string): void {
    if (!this.isClosed) this.stream.write(`${line}\n`);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    const { stream } = this;
    if ('flushSync' in stream && typeof stream.flushSync === 'function') stream.flushSync();
    this.file?.end();
  }
}
