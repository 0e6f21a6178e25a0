import type { TokenUsage } from '../scheduling/attempts';
import { findUsage } from './usage';

export interface StreamWatch {
  /** The client did not ask for the usage chunk that the router asked for: it is taken out. */
  readonly withholdsUsage: boolean;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const DATA = Buffer.from('data:');
const EVENT = Buffer.from('event:');
const USAGE = Buffer.from('"usage"');
const DONE = '[DONE]';
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
const ERROR_EVENT = /^\{\s*"(?:error"\s*:\s*[^n\s]|(?:type|object)"\s*:\s*"error")/;
const LAST_EVENTS: ReadonlySet<string> = new Set([
  'message_stop',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** An unfinished line longer than this passes on unread rather than being held. */
const HELD_BYTES = 256 * 1024;

/**
 * Watches a server-sent event stream as it passes. Nothing is held but the beginning of an unfinished `data:` line, so a token reaches
 * the client in the turn in which its line was complete. The bytes that come out are those that went in, less the usage chunk that
 * the client did not ask for and a `[DONE]` that follows an error.
 */
export class StreamWatcher {
  /** What the stream said last about usage: engines that tell it in each chunk tell running totals. */
  usage: TokenUsage | undefined;
  /** `data:` lines with content. */
  contentEvents = 0;
  /** Kind of the first `data:` line. */
  first: 'none' | 'content' | 'error' = 'none';
  /** Payload of an error event that the engine sent. */
  error: string | undefined;
  /** The stream's own last event was seen. */
  isFinished = false;

  private held: Buffer | undefined;
  private isInsidePassedLine = false;
  private dropsBlankLine = false;

  constructor(private readonly watch: StreamWatch) {}

  /** @param emit gets what passes on, in order; slices of the chunk where possible. */
  push(chunk: Buffer, emit: (bytes: Buffer) => void): void {
    const bytes = this.held === undefined ? chunk : Buffer.concat([this.held, chunk]);
    this.held = undefined;
    let from = 0;
    let lineStart = 0;
    if (this.isInsidePassedLine) {
      const newline = bytes.indexOf(NEWLINE);
      if (newline === -1) {
        emit(bytes);
        return;
      }
      this.isInsidePassedLine = false;
      lineStart = newline + 1;
    }
    for (let newline = bytes.indexOf(NEWLINE, lineStart); newline !== -1; newline = bytes.indexOf(NEWLINE, lineStart)) {
      const end = newline > lineStart && bytes[newline - 1] === RETURN ? newline - 1 : newline;
      if (!this.passes(bytes, lineStart, end)) {
        if (lineStart > from) emit(bytes.subarray(from, lineStart));
        from = newline + 1;
      }
      lineStart = newline + 1;
    }
    const rest = bytes.length - lineStart;
    if (rest > 0 && rest <= HELD_BYTES && mayBeData(bytes, lineStart)) {
      this.held = bytes.subarray(lineStart);
      if (lineStart > from) emit(bytes.subarray(from, lineStart));
      return;
    }
    this.isInsidePassedLine = rest > 0;
    if (bytes.length > from) emit(from === 0 ? bytes : bytes.subarray(from));
  }

  /** The stream ended: whatever was held passes on. */
  end(emit: (bytes: Buffer) => void): void {
    const held = this.held;
    this.held = undefined;
    if (held !== undefined && this.passes(held, 0, held.length)) emit(held);
  }

  private passes(bytes: Buffer, start: number, end: number): boolean {
    if (start === end) {
      const drops = this.dropsBlankLine;
      this.dropsBlankLine = false;
      return !drops;
    }
    this.dropsBlankLine = false;
    if (startsWith(bytes, start, end, DATA)) {
      const payload = bytes[start + DATA.length] === SPACE ? start + DATA.length + 1 : start + DATA.length;
      this.dropsBlankLine = !this.passesData(bytes, payload, end);
      return !this.dropsBlankLine;
    }
    if (startsWith(bytes, start, end, EVENT)) {
      if (LAST_EVENTS.has(bytes.toString('latin1', start + EVENT.length, end).trim())) this.isFinished = true;
    }
    return true;
  }

  private passesData(bytes: Buffer, start: number, end: number): boolean {
    if (end - start <= 16 && bytes.toString('latin1', start, end).trim() === DONE) {
      this.isFinished = true;
      return this.error === undefined;
    }
    if (ERROR_EVENT.test(bytes.toString('latin1', start, Math.min(end, start + 64)))) {
      this.error ??= bytes.toString('utf8', start, end);
      if (this.first === 'none') this.first = 'error';
      return true;
    }
    if (this.first === 'none') this.first = 'content';
    this.contentEvents += 1;
    const payload = bytes.subarray(start, end);
    if (!payload.includes(USAGE)) return true;
    const usage = findUsage(payload);
    if (usage === undefined) return true;
    this.usage = merge(this.usage, usage);
    return !(this.watch.withholdsUsage && NO_CHOICES.test(payload.toString('latin1')));
  }
}

/** Messages streams tell input tokens at the start and output tokens at the end. */
function merge(before: TokenUsage | undefined, now: TokenUsage): TokenUsage {
  if (before === undefined) return now;
  const cachedTokens = now.cachedTokens ?? before.cachedTokens;
  return {
    // A later count may leave out what the first one said of the cache.
    promptTokens: Math.max(now.promptTokens, before.promptTokens),
    completionTokens: now.completionTokens || before.completionTokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
  };
}

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  return end - start >= prefix.length && bytes.compare(prefix, 0, prefix.length, start, start + prefix.length) === 0;
}

/** Whether an unfinished line is, or may yet become, a `data:` line or the `event:` line whose name matters. */
function mayBeData(bytes: Buffer, start: number): boolean {
  for (const prefix of [DATA, EVENT]) {
    const length = Math.min(prefix.length, bytes.length - start);
    if (bytes.compare(prefix, 0, length, start, start + length) === 0) return true;
  }
  return false;
}
