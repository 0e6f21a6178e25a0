const LENGTH_BYTES = 4;

/** A message as it goes over a connection: its length before it. */
export function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  bytes.writeUInt32BE(message.length);
  message.copy(bytes, LENGTH_BYTES);
  return bytes;
}

/** Takes the messages of a connection apart, however its bytes are cut into chunks. */
export class MessageReader {
  private chunks: Buffer[] = [];
  private held = 0;

  /** @param mostBytes of one message; may change between two. */
  constructor(public mostBytes: number) {}

  /** @returns false when a message is longer than allowed; nothing that follows makes sense then. */
  push(chunk: Buffer, take: (message: Buffer) => void): boolean {
    this.chunks.push(chunk);
    this.held += chunk.length;
    while (this.held >= LENGTH_BYTES) {
      const length = this.joined(LENGTH_BYTES).readUInt32BE();
      if (length > this.mostBytes) return false;
      const end = LENGTH_BYTES + length;
      if (this.held < end) return true;
      const bytes = this.joined(end);
      this.chunks[0] = bytes.subarray(end);
      this.held -= end;
      take(bytes.subarray(LENGTH_BYTES, end));
    }
    return true;
  }

  /** The first chunk, made at least so long. */
  private joined(bytes: number): Buffer {
    if (this.chunks[0]!.length < bytes) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0]!;
  }
}
