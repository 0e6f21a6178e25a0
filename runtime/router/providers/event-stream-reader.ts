const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** An event that is longer than this is no event of a chat: the stream is given up rather than held. */
const MAX_EVENT_BYTES = 16 * 2 ** 20;

/**
 * Reads the `data` of server-sent events from chunks that may be cut anywhere. Lines end with LF or CRLF; comments, names and ids are
 * passed over, since both protocols repeat the name inside the data.
 */
export class EventStreamReader {
  private held: Buffer | undefined;
  private data: string[] = [];
  private dataBytes = 0;

  /** Whether no event has begun without having ended. */
  get isBetweenEvents(): boolean {
    return this.held === undefined && this.data.length === 0;
  }

  /** @returns the data of each event that ended in this chunk, in order. @throws RangeError when an event is too long to be held. */
  push(chunk: Buffer): readonly string[] {
    const bytes = this.held === undefined ? chunk : Buffer.concat([this.held, chunk]);
    this.held = undefined;
    const events: string[] = [];
    let lineStart = 0;
    for (let newline = bytes.indexOf(NEWLINE); newline !== -1; newline = bytes.indexOf(NEWLINE, lineStart)) {
      const end = newline > lineStart && bytes[newline - 1] === RETURN ? newline - 1 : newline;
      this.readLine(bytes.toString('utf8', lineStart, end), events);
      lineStart = newline + 1;
    }
    if (lineStart < bytes.length) this.held = bytes.subarray(lineStart);
    if (this.dataBytes + (this.held?.length ?? 0) > MAX_EVENT_BYTES) throw new RangeError('an event is too long');
    return events;
  }

  private readLine(line: string, events: string[]): void {
    if (line === '') {
      if (this.data.length > 0) events.push(this.data.join('\n'));
      this.data = [];
      this.dataBytes = 0;
    } else if (line.startsWith('data:')) {
      this.data.push(line.slice(line[5] === ' ' ? 6 : 5));
      this.dataBytes += line.length;
    }
  }
}
