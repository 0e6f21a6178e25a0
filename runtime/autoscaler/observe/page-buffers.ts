/** Most pages fit: that of a vLLM engine has 84 KB. */
const FIRST_BYTES = 128 * 1024;
/** A buffer that grew beyond is not kept for the next page. */
const KEPT_BYTES = 1024 * 1024;

/** Buffers that pages are put together in, one for each page under way; they are used again, since a round reads thousands. */
export class PageBuffers {
  private readonly free: Buffer[] = [];

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  giveBack(buffer: Buffer): void {
    if (buffer.length <= KEPT_BYTES) this.free.push(buffer);
  }
}

/** A buffer with room for at least so many bytes that begins with the first ones of `buffer`. */
export function grown(buffer: Buffer, usedBytes: number, neededBytes: number): Buffer {
  if (neededBytes <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.max(neededBytes, 2 * buffer.length));
  buffer.copy(larger, 0, 0, usedBytes);
  return larger;
}
