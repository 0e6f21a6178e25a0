import type { ServerResponse } from 'node:http';

/** The answer to one client: its head is sent at most once, and only when it is sure. After the client left, nothing is written. */
export class ClientAnswer {
  private onLeave: (() => void) | undefined;

  /** @param ownHeaders headers of the router's own on every answer, as name, value, name, value. */
  constructor(
    private readonly response: ServerResponse,
    private readonly ownHeaders: string[],
  ) {
    response.on('close', () => this.onLeave?.());
  }

  get isBegun(): boolean {
    return this.response.headersSent;
  }

  /** The connection is gone, or the answer is complete. */
  get isClosed(): boolean {
    return this.response.destroyed;
  }

  /** Replaces what is called when the client's connection ends or the answer is complete. */
  watch(onLeave: (() => void) | undefined): void {
    this.onLeave = onLeave;
  }

  /** Adds a header to an answer that has not begun. */
  addHeader(name: string, value: string): void {
    this.ownHeaders.push(name, value);
  }

  /** @param headers name, value, name, value; they become the answer's. */
  begin(status: number, headers: string[]): void {
    if (this.isClosed) return;
    headers.push(...this.ownHeaders);
    this.response.writeHead(status, headers);
  }

  /** Sends a whole answer at once. */
  whole(status: number, headers: string[], body: Buffer): void {
    if (this.isClosed) return;
    headers.push('content-length', String(body.length));
    this.begin(status, headers);
    this.response.end(body);
  }

  /** @returns false when the client does not keep up; `onDrain` says when it does again. */
  write(bytes: Buffer): boolean {
    return this.isClosed || this.response.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.response.on('drain', listener);
  }

  end(last?: string): void {
    if (this.isClosed) return;
    if (last === undefined) this.response.end();
    else this.response.end(last);
  }

  /** Ends an answer so that the client sees that a part is missing. */
  cut(): void {
    this.response.destroy();
  }
}
