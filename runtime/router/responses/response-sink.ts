import type { AnswerSink } from '../relay/client-answer';

/** A response names itself first; instructions that it repeats may be long, but come after. */
const HEAD_BYTES = 16 * 1024;
/** Quotes inside a JSON string are escaped, so that no text of a prompt reads like this. */
const ID = /"id"\s*:\s*"([A-Za-z0-9_-]{1,128})"/;

/** Passes an answer on, and tells the id of the response in it. */
export class ResponseSink implements AnswerSink {
  private head: string | undefined;

  constructor(
    private readonly answer: AnswerSink,
    private readonly onId: (id: string) => void,
  ) {}

  begin(status: number, headers: string[]): void {
    if (status < 300) this.head = '';
    this.answer.begin(status, headers);
  }

  whole(status: number, headers: string[], body: Buffer): void {
    if (status < 300) this.head = '';
    this.look(body);
    this.answer.whole(status, headers, body);
  }

  write(bytes: Buffer): boolean {
    if (this.head !== undefined) this.look(bytes);
    return this.answer.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.answer.onDrain(listener);
  }

  end(last?: string): void {
    this.answer.end(last);
  }

  cut(): void {
    this.answer.cut();
  }

  private look(bytes: Buffer): void {
    if (this.head === undefined) return;
    this.head += bytes.toString('latin1', 0, HEAD_BYTES - this.head.length);
    const id = ID.exec(this.head)?.[1];
    if (id !== undefined) this.onId(id);
    if (id !== undefined || this.head.length >= HEAD_BYTES) this.head = undefined;
  }
}
