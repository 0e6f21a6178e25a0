import type { AnswerSink } from '../relay/client-answer';

/** Keeps an answer that is the router's own business. */
export class CollectedAnswer implements AnswerSink {
  private parts: Buffer[] = [];
  private bytes = 0;
  /** It was longer than it may be, or broke off. */
  isBroken = false;

  /** @param maxBytes what is kept at most. */
  constructor(private readonly maxBytes: number) {}

  get body(): Buffer {
    return this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts);
  }

  begin(): void {}

  whole(_status: number, _headers: string[], body: Buffer): void {
    this.write(body);
  }

  write(bytes: Buffer): boolean {
    this.bytes += bytes.length;
    if (this.bytes <= this.maxBytes) this.parts.push(bytes);
    else this.isBroken = true;
    return true;
  }

  onDrain(): void {}

  end(): void {}

  cut(): void {
    this.isBroken = true;
  }
}
