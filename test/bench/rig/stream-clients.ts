import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

const MARK = Buffer.from('data: ');
/** How long all streams may take to begin. */
const MOST_START_MS = 30_000;

/** Clients of endless streams through one proxy, in this process, on raw sockets. */
export class StreamClients {
  private readonly sockets: Socket[] = [];
  private readonly begun = new Set<Socket>();
  private failure: Error | undefined;
  private chunks = 0;

  private constructor() {}

  /**
   * Opens streams one after the other, so that their chunks are spread over the pace, and waits until each had a chunk.
   *
   * @throws when a stream is refused or ends.
   */
  static async open(port: number, count: number, paceMs: number): Promise<StreamClients> {
    const clients = new StreamClients();
    const content = 'x'.repeat(700);
    const body = JSON.stringify({ model: 'm', stream: true, pace_ms: paceMs, messages: [{ role: 'user', content }] });
    const request =
      `POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    for (let index = 0; index < count; index++) {
      clients.add(port, request);
      await wait(1);
    }
    const end = performance.now() + MOST_START_MS;
    while (clients.begun.size < count) {
      clients.check();
      if (performance.now() > end) throw new Error(`only ${clients.begun.size} of ${count} streams began`);
      await wait(20);
    }
    return clients;
  }

  /** Chunks that came within a time. @throws when a stream ended. */
  async count(seconds: number): Promise<number> {
    const before = this.chunks;
    await wait(1000 * seconds);
    this.check();
    return this.chunks - before;
  }

  close(): void {
    for (const socket of this.sockets) socket.removeAllListeners('close').destroy();
  }

  private check(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  private add(port: number, request: string): void {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(request));
    this.sockets.push(socket);
    socket.on('error', (error) => {
      this.failure ??= error;
    });
    socket.on('close', () => {
      this.failure ??= new Error('a stream ended before the measurement did');
    });
    socket.on('data', (bytes: Buffer) => {
      let found = 0;
      // A mark that is split over two segments is missed: chunks are written whole, so that is rare.
      for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at + MARK.length)) found += 1;
      if (found === 0) return;
      this.chunks += found;
      this.begun.add(socket);
    });
  }
}
