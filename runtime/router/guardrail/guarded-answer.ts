import type { GuardrailConfig } from '../../../src/config/guardrail-config';
import type { RouterError } from '../errors';
import { EventStreamReader } from '../providers/event-stream-reader';
import type { AnswerSink } from '../relay/client-answer';
import { streamErrorEvent } from '../relay/stream-error';
import type { ApiPath } from '../request/api-paths';
import { AnswerTexts } from './answer-texts';

export interface GuardedAnswerOptions {
  readonly answer: AnswerSink;
  readonly api: ApiPath;
  readonly config: Pick<GuardrailConfig, 'streamWindowCharacters' | 'answerBytes' | 'onFailure'>;
  /** @param isWhole whether nothing follows. @returns how the answer ends; undefined when it may go on. */
  readonly judge: (texts: readonly string[], isWhole: boolean) => Promise<RouterError | undefined>;
  /** How an answer ends that could not be judged; undefined when it may go on unjudged. */
  readonly failed: (reason: string) => RouterError | undefined;
  /** The answer was refused while it went on: nobody wants the rest. */
  readonly onRefused: () => void;
}

/** What the answer ends with, after everything before it may pass. */
type Ending = { readonly kind: 'end'; readonly last: string | undefined } | { readonly kind: 'cut' };

/** Held bytes of a stream from which on its engine waits. */
const HELD_BYTES = 256 * 1024;
const EVENT_STREAM = 'text/event-stream';
const TEXTUAL = /^(text\/|application\/([a-z.+-]*\+)?json\b)/i;
const END_OF_EVENT = Buffer.from('\n\n');

/**
 * Holds an answer until a guardrail allowed it: a document as a whole, a stream one window of text after the other. Nothing that was not
 * judged reaches the client.
 */
export class GuardedAnswer implements AnswerSink {
  /** How the answer was refused. */
  refusal: RouterError | undefined;
  private readonly texts = new AnswerTexts();
  private reader: EventStreamReader | undefined;
  private head: { readonly status: number; readonly headers: string[] } | undefined;
  private body: Buffer | undefined;
  private held: Buffer[] = [];
  private heldBytes = 0;
  private totalBytes = 0;
  /** Of what is held, the parts up to the end of an event: the text of the others is not known yet. */
  private knownParts = 0;
  private judgedCharacters = 0;
  private ending: Ending | undefined;
  private isBegun = false;
  private isUnjudged = false;
  private isRunning = false;
  private running: Promise<void> | undefined;
  private drain: (() => void) | undefined;
  /** Why its engine waits: too much is held, or the client does not keep up. */
  private isFull = false;
  private isClogged = false;

  constructor(private readonly options: GuardedAnswerOptions) {}

  begin(status: number, headers: string[]): void {
    this.take(status, headers);
    if (this.isUnjudged) this.beginAnswer();
  }

  whole(status: number, headers: string[], body: Buffer): void {
    this.take(status, headers);
    this.body = body;
    this.ending = { kind: 'end', last: undefined };
    if (!this.isUnjudged && this.count(body)) this.texts.add(body.toString());
    this.go();
  }

  write(bytes: Buffer): boolean {
    if (this.refusal !== undefined) return true;
    if (this.isUnjudged) return this.options.answer.write(bytes);
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (!this.count(bytes)) return !this.isClogged;
    if (this.reader === undefined) return true;
    this.read(bytes);
    this.go();
    this.isFull = this.heldBytes > HELD_BYTES;
    return !this.isFull && !this.isClogged;
  }

  onDrain(listener: () => void): void {
    this.drain = listener;
    if (this.isUnjudged) this.options.answer.onDrain(listener);
  }

  end(last?: string): void {
    if (this.ending !== undefined || this.refusal !== undefined) return;
    this.ending = { kind: 'end', last };
    if (!this.isUnjudged) {
      if (this.reader === undefined) this.texts.add(Buffer.concat(this.held).toString());
      else this.read(END_OF_EVENT);
    }
    this.go();
  }

  cut(): void {
    this.ending ??= { kind: 'cut' };
    this.go();
  }

  /** Until everything that came was judged, and the client has what it may have. */
  async settled(): Promise<void> {
    while (this.isRunning) await this.running;
  }

  private take(status: number, headers: string[]): void {
    this.head = { status, headers };
    const contentType = headerOf(headers, 'content-type');
    if (contentType.startsWith(EVENT_STREAM)) this.reader = new EventStreamReader();
    // Sound and pictures say nothing that can be read here.
    else this.isUnjudged = !TEXTUAL.test(contentType);
  }

  private read(bytes: Buffer): void {
    try {
      for (const data of this.reader!.push(bytes)) this.texts.add(data);
      if (this.reader!.isBetweenEvents) this.knownParts = this.held.length;
    } catch {
      this.giveUpJudging('an event of it is too long to be read');
    }
  }

  private go(): void {
    if (this.isRunning || this.refusal !== undefined) return;
    this.isRunning = true;
    this.running = this.run();
  }

  /** Judges what came as long as there is enough. It is over in the turn in which nothing is left to judge. */
  private async run(): Promise<void> {
    const { config, judge } = this.options;
    try {
      while (this.refusal === undefined) {
        const { ending, isUnjudged } = this;
        const { characters } = this.texts;
        const news = characters - this.judgedCharacters;
        const isEnough = ending !== undefined || news >= config.streamWindowCharacters;
        if (!isEnough || (ending === undefined && (isUnjudged || this.reader === undefined))) return;
        const parts = this.knownParts;
        if (news > 0 && !isUnjudged && ending?.kind !== 'cut') {
          const refusal = await judge(this.texts.all, ending !== undefined);
          if (refusal !== undefined) {
            this.refuse(refusal);
            return;
          }
          this.judgedCharacters = characters;
        }
        if (ending !== undefined) {
          this.finish(ending);
          return;
        }
        this.release(parts);
      }
    } finally {
      this.isRunning = false;
    }
  }

  private finish(ending: Ending): void {
    const { answer } = this.options;
    if (ending.kind === 'cut') {
      answer.cut();
    } else if (this.body !== undefined) {
      answer.whole(this.head!.status, this.head!.headers, this.body);
    } else {
      this.release(this.held.length);
      answer.end(ending.last);
    }
    this.drop();
  }

  /** Lets go what was judged. */
  private release(parts: number): void {
    this.beginAnswer();
    this.knownParts = Math.max(0, this.knownParts - parts);
    for (const bytes of this.held.splice(0, parts)) {
      this.heldBytes -= bytes.length;
      if (!this.options.answer.write(bytes)) this.isClogged = true;
    }
    if (!this.isFull || this.heldBytes > HELD_BYTES) return;
    this.isFull = false;
    if (!this.isClogged) this.drain?.();
  }

  private beginAnswer(): void {
    if (this.isBegun || this.head === undefined) return;
    this.isBegun = true;
    const { answer } = this.options;
    answer.begin(this.head.status, this.head.headers);
    if (this.isUnjudged) return;
    answer.onDrain(() => {
      this.isClogged = false;
      if (!this.isFull) this.drain?.();
    });
  }

  /** @returns whether the answer is still short enough to be judged. */
  private count(bytes: Buffer): boolean {
    const { answerBytes } = this.options.config;
    this.totalBytes += bytes.length;
    if (this.totalBytes > answerBytes) this.giveUpJudging(`it is longer than ${answerBytes} bytes`);
    return this.totalBytes <= answerBytes;
  }

  private giveUpJudging(reason: string): void {
    const refusal = this.options.failed(reason);
    if (refusal !== undefined) {
      this.refuse(refusal);
      return;
    }
    if (this.body === undefined) this.release(this.held.length);
    this.isUnjudged = true;
  }

  private refuse(refusal: RouterError): void {
    this.refusal = refusal;
    this.drop();
    const { answer, api, onRefused } = this.options;
    if (this.isBegun) answer.end(streamErrorEvent(refusal, api));
    if (this.ending === undefined) onRefused();
  }

  private drop(): void {
    this.held = [];
    this.heldBytes = 0;
  }
}

function headerOf(headers: readonly string[], name: string): string {
  for (let index = 0; index < headers.length; index += 2) if (headers[index] === name) return headers[index + 1]!;
  return '';
}
