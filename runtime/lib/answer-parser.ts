import { FieldNames, isHeadText } from './field-names';

/** Told what a server's answer consists of, in order. After `onEnd` or `onMalformed` nothing follows but `onSurplus`. */
export interface AnswerEvents {
  /** @param headers name in lower case, value, name, value; each byte of a value is one character. Interim (1xx) heads are not told. */
  onHead(status: number, headers: readonly string[]): void;
  /** @param bytes the receiver's own, or good only until it returns: as the parser was made. */
  onBody(bytes: Buffer): void;
  /** The answer is whole. @param isReusable whether another may follow on this connection. */
  onEnd(isReusable: boolean): void;
  onMalformed(what: string): void;
  /** Bytes came after the end: whatever they are, the connection cannot be trusted with another request. */
  onSurplus(): void;
}

type State = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-close' | 'over';

/** Longest head, and longest trailer. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Longest chunk-size line: twelve digits and an extension that nobody reads. */
const MAX_CHUNK_LINE_BYTES = 4 * 1024;

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?:[ \r]|$)/;
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

/** As servers spell them. */
const NAMES = new FieldNames();

/**
 * Reads one HTTP/1.1 answer from the pieces in which it arrives. Strict: what two readers could take in two ways (folded fields, bare
 * line ends, a length beside chunks, unlike lengths) is malformed.
 */
export class AnswerParser {
  private state: State = 'head';
  /** Bytes of a line or head that is not complete. */
  private held: Buffer | undefined;
  private left = 0;
  private trailerBytes = 0;
  private keepsAlive = false;
  /** Counts answers, so that bytes after the end of one never begin the next. */
  private answer = 0;

  /** @param copies whether bodies are given as copies; else as parts of what is pushed. @default true */
  constructor(
    private readonly events: AnswerEvents,
    private readonly copies = true,
  ) {}

  /** Forgets the last answer. */
  reset(): void {
    this.answer += 1;
    this.state = 'head';
    this.held = undefined;
    this.left = 0;
    this.trailerBytes = 0;
  }

  /** @param chunk may be overwritten afterwards. */
  push(chunk: Buffer): void {
    let bytes = chunk;
    if (this.held !== undefined) {
      bytes = Buffer.concat([this.held, chunk]);
      this.held = undefined;
    }
    let at = 0;
    const { answer } = this;
    while (at < bytes.length && this.state !== 'over' && this.answer === answer) {
      const next = this.step(bytes, at);
      if (next === -1) {
        this.held = copied(bytes, at, bytes.length);
        return;
      }
      at = next;
    }
    if (at < bytes.length) this.events.onSurplus();
  }

  /** The server closed the connection. */
  close(): void {
    if (this.state === 'until-close') this.end(false);
    else if (this.state !== 'over') this.malformed('the connection was closed before the answer was whole');
  }

  /** @returns where to go on, or -1 when more bytes are needed. */
  private step(bytes: Buffer, at: number): number {
    switch (this.state) {
      case 'head':
        return this.readHead(bytes, at);
      case 'until-close':
        this.tellBody(bytes, at, bytes.length);
        return bytes.length;
      case 'sized':
      case 'chunk':
        return this.readBody(bytes, at);
      case 'chunk-size':
        return this.readChunkSize(bytes, at);
      case 'chunk-end':
        if (bytes.length - at < 2) return -1;
        if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return this.malformed('a chunk that is longer than its size');
        this.state = 'chunk-size';
        return at + 2;
      case 'trailer':
        return this.readTrailer(bytes, at);
      case 'over':
        return at;
    }
  }

  private readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at);
    if ((end === -1 ? bytes.length : end) - at > MAX_HEAD_BYTES) return this.malformed('a head that is too long');
    if (end === -1) return -1;
    const text = bytes.toString('latin1', at, end);
    if (!isHeadText(text)) return this.malformed('a head with a character that none may have');
    const status = STATUS_LINE.exec(text);
    if (status === null) return this.malformed('a status line that is none');
    this.keepsAlive = status[1] === '1';
    const headers: string[] = [];
    let length: string | undefined;
    let isChunked = false;
    for (let lineEnd = text.indexOf('\r\n'); lineEnd !== -1; ) {
      const lineStart = lineEnd + 2;
      lineEnd = text.indexOf('\r\n', lineStart);
      const colon = text.indexOf(':', lineStart);
      const valueEnd = lineEnd === -1 ? text.length : lineEnd;
      const name = colon === -1 || colon > valueEnd ? undefined : NAMES.lower(text.slice(lineStart, colon));
      if (name === undefined) return this.malformed('a header that is none');
      const value = text.slice(colon + 1, valueEnd).trim();
      if (name === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value))
          return this.malformed('a content-length that is none');
        length = value;
      } else if (name === 'transfer-encoding') {
        if (isChunked || value.toLowerCase() !== 'chunked') return this.malformed('a transfer-encoding other than chunked');
        isChunked = true;
      } else if (name === 'connection') {
        this.keepsAlive = connectionLasts(value, this.keepsAlive);
      }
      headers.push(name, value);
    }
    if (isChunked && length !== undefined) return this.malformed('a content-length beside chunks');
    return this.headRead(Number(status[2]), headers, isChunked, length, end + 4);
  }

  private headRead(
    status: number,
    headers: readonly string[],
    isChunked: boolean,
    length: string | undefined,
    next: number,
  ): number {
    if (status === 101) return this.malformed('a change of protocol that nobody asked for');
    if (status < 200) return next;
    this.left = length === undefined ? 0 : Number(length);
    if (isChunked) this.state = 'chunk-size';
    else if (status === 204 || status === 304 || length !== undefined) this.state = 'sized';
    else this.state = 'until-close';
    this.events.onHead(status, headers);
    if (this.state === 'sized' && (this.left === 0 || status === 204 || status === 304)) this.end(this.keepsAlive);
    return next;
  }

  private readBody(bytes: Buffer, at: number): number {
    const take = Math.min(this.left, bytes.length - at);
    this.left -= take;
    const isWhole = this.left === 0;
    const isSized = this.state === 'sized';
    if (isWhole && !isSized) this.state = 'chunk-end';
    this.tellBody(bytes, at, at + take);
    if (!isWhole || !isSized) return at + take;
    // Nobody asked for what follows, so the length is wrong and what it measures is a part.
    if (at + take < bytes.length) return this.malformed('bytes after the end of an answer');
    this.end(this.keepsAlive);
    return at + take;
  }

  private tellBody(bytes: Buffer, start: number, end: number): void {
    this.events.onBody(this.copies ? copied(bytes, start, end) : bytes.subarray(start, end));
  }

  private readChunkSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_END, at);
    if ((end === -1 ? bytes.length : end) - at > MAX_CHUNK_LINE_BYTES) return this.malformed('a chunk size that is too long');
    if (end === -1) return -1;
    const size = CHUNK_SIZE.exec(bytes.toString('latin1', at, end));
    if (size === null) return this.malformed('a chunk size that is none');
    this.left = Number.parseInt(size[1]!, 16);
    this.state = this.left === 0 ? 'trailer' : 'chunk';
    return end + 2;
  }

  /** Trailers say nothing that anybody here reads. */
  private readTrailer(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_END, at);
    const length = (end === -1 ? bytes.length : end) - at;
    if (this.trailerBytes + length > MAX_HEAD_BYTES) return this.malformed('a trailer that is too long');
    if (end === -1) return -1;
    this.trailerBytes += length;
    if (end === at) this.end(this.keepsAlive);
    return end + 2;
  }

  private end(isReusable: boolean): void {
    this.state = 'over';
    this.events.onEnd(isReusable);
  }

  private malformed(what: string): number {
    this.state = 'over';
    this.events.onMalformed(what);
    return Number.MAX_SAFE_INTEGER;
  }
}

function connectionLasts(value: string, otherwise: boolean): boolean {
  const words = value
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  return words.includes('close') ? false : words.includes('keep-alive') ? true : otherwise;
}

function copied(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
