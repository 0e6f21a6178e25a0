/**
 * Finds the members of a JSON object in its bytes without building values. A body of megabytes is mostly text inside strings, which
 * is jumped over; the whole is read once, and long bodies in slices between which other requests go on.
 */
import { KeyCache } from './key-cache';

/** One member that the caller asked for. Offsets are into the scanned bytes. */
export interface JsonMember {
  /** Decoded. */
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** First byte of the value: tells its type. */
  readonly firstByte: number;
  /** Offset after the comma that follows; `valueEnd` when none follows. */
  readonly nextStart: number;
  /** Offset at which the last member before this one ended that stays in the body, or after the opening brace. */
  readonly keptEnd: number;
}

export type JsonScan =
  | {
      readonly kind: 'object';
      /** In order. */
      readonly members: readonly JsonMember[];
      /** Offset after the opening brace. */
      readonly start: number;
      readonly isEmpty: boolean;
    }
  | {
      readonly kind: 'invalid';
      readonly reason: 'syntax' | 'depth' | 'duplicate';
      readonly offset: number;
      readonly key?: string;
    };

/** What a caller wants of a key: `read` reports the member, `drop` reports it and counts it as gone, `skip` passes over it. */
export type KeyUse = 'read' | 'drop' | 'skip';

export interface JsonScanOptions {
  readonly useOf: (key: string) => KeyUse;
  /** Deepest nesting, the object itself being 1. */
  readonly maxDepth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Brackets that are open, by depth. */
const SHARED_STACK = new Uint8Array(1024);

/** Text runs longer than this are searched natively: below it a call costs more than the loop. */
const JUMP_AFTER = 48;

/**
 * Scans `bytes[start, end)`, which must be exactly one object with optional white space around. Each yield is a place to pause.
 *
 * @param sliceBytes bytes after which the scan pauses.
 */
export function* scanJsonObject(
  bytes: Buffer,
  start: number,
  end: number,
  { useOf, maxDepth }: JsonScanOptions,
  sliceBytes: number,
): Generator<undefined, JsonScan, undefined> {
  // A scan that may pause needs a stack of its own: another may run in between.
  const kinds = maxDepth < SHARED_STACK.length && end - start <= sliceBytes ? SHARED_STACK : new Uint8Array(maxDepth + 1);
  const members: JsonMember[] = [];
  let pauseAt = start + sliceBytes;
  let position = skipSpace(bytes, start, end);
  if (position >= end || bytes[position] !== OPEN_BRACE) return invalid('syntax', position);
  position += 1;
  const bodyStart = position;
  let keptEnd = position;
  let isEmpty = true;
  position = skipSpace(bytes, position, end);
  if (bytes[position] === CLOSE_BRACE && position < end) {
    position = skipSpace(bytes, position + 1, end);
    return position === end ? { kind: 'object', members, start: bodyStart, isEmpty } : invalid('syntax', position);
  }
  for (;;) {
    if (position >= end || bytes[position] !== QUOTE) return invalid('syntax', position);
    isEmpty = false;
    const keyStart = position;
    let after = skipString(bytes, position + 1, end, end);
    if (after < 0) return invalid('syntax', position);
    const key = decodeKey(bytes, keyStart, after);
    if (key === undefined) return invalid('syntax', position);
    position = skipSpace(bytes, after, end);
    if (position >= end || bytes[position] !== COLON) return invalid('syntax', position);
    position = skipSpace(bytes, position + 1, end);
    if (position >= end) return invalid('syntax', position);
    const valueStart = position;
    const firstByte = bytes[position]!;
    if (firstByte === QUOTE || firstByte === OPEN_BRACE || firstByte === OPEN_BRACKET) {
      let depth = 1;
      do {
        const byte = bytes[position]!;
        if (byte === QUOTE) {
          after = skipString(bytes, position + 1, end, pauseAt);
          while (after < 0) {
            const paused = -after;
            if (paused >= end) return invalid('syntax', position);
            pauseAt = paused + sliceBytes;
            yield undefined;
            after = skipString(bytes, paused, end, pauseAt);
          }
          position = after;
        } else {
          if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
            if (depth >= maxDepth) return invalid('depth', position);
            kinds[depth] = byte;
            depth += 1;
          } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
            depth -= 1;
            // In ASCII a closing bracket is its opening one plus two.
            if (depth < 1 || kinds[depth]! + 2 !== byte) return invalid('syntax', position);
          }
          position += 1;
        }
        if (position >= pauseAt) {
          pauseAt = position + sliceBytes;
          yield undefined;
        }
      } while (depth > 1 && position < end);
      if (depth > 1) return invalid('syntax', position);
    } else {
      while (position < end && !endsScalar(bytes[position]!)) position += 1;
      if (!isScalar(bytes, valueStart, position)) return invalid('syntax', valueStart);
    }
    const valueEnd = position;
    position = skipSpace(bytes, position, end);
    const byte = bytes[position];
    if (position >= end || (byte !== COMMA && byte !== CLOSE_BRACE)) return invalid('syntax', position);
    const use = useOf(key);
    if (use !== 'skip') {
      for (const member of members) if (member.key === key) return invalid('duplicate', keyStart, key);
      members.push({
        key,
        keyStart,
        valueStart,
        valueEnd,
        firstByte,
        keptEnd,
        nextStart: byte === COMMA ? position + 1 : valueEnd,
      });
    }
    if (use !== 'drop') keptEnd = valueEnd;
    position = skipSpace(bytes, position + 1, end);
    if (byte === CLOSE_BRACE) {
      return position === end ? { kind: 'object', members, start: bodyStart, isEmpty } : invalid('syntax', position);
    }
  }
}

function invalid(reason: 'syntax' | 'depth' | 'duplicate', offset: number, key?: string): JsonScan {
  return { kind: 'invalid', reason, offset, ...(key === undefined ? {} : { key }) };
}

function skipSpace(bytes: Buffer, position: number, end: number): number {
  while (position < end) {
    const byte = bytes[position]!;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    position += 1;
  }
  return position;
}

/**
 * @param position inside a string.
 * @returns the offset after its closing quote; or minus the offset at which to go on, when `pauseAt` was passed or the bytes ended.
 */
function skipString(bytes: Buffer, position: number, end: number, pauseAt: number): number {
  let runStart = position;
  while (position < end) {
    const byte = bytes[position]!;
    if (byte === QUOTE) return position + 1;
    if (byte === BACKSLASH) {
      position += 2;
      if (position >= pauseAt) return -Math.min(position, end);
      continue;
    }
    position += 1;
    if (position - runStart >= JUMP_AFTER) {
      const quote = bytes.indexOf(QUOTE, position);
      if (quote === -1 || quote >= end) return -end;
      let escapes = quote;
      while (escapes > position && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
      position = (quote - escapes) % 2 === 0 ? quote : quote + 1;
      runStart = position;
      if (position >= pauseAt && bytes[position] !== QUOTE) return -position;
    }
  }
  return -end;
}

const KEYS = new KeyCache();

function decodeKey(bytes: Buffer, quoteStart: number, end: number): string | undefined {
  for (let position = quoteStart + 1; position < end - 1; position++) {
    const byte = bytes[position]!;
    if (byte === BACKSLASH || byte < 0x20) return unescaped(bytes.toString('utf8', quoteStart, end));
  }
  return KEYS.keyAt(bytes, quoteStart + 1, end - 1);
}

function unescaped(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20;
}

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

function isScalar(bytes: Buffer, start: number, end: number): boolean {
  return isCount(bytes, start, end) || (end > start && end - start <= 400 && SCALAR.test(bytes.toString('latin1', start, end)));
}

/** Whether the bytes are a whole number without sign, as nearly all numbers of a request are. */
function isCount(bytes: Buffer, start: number, end: number): boolean {
  if (end <= start || end - start > 15 || (bytes[start] === 0x30 && end > start + 1)) return false;
  for (let position = start; position < end; position++) {
    const byte = bytes[position]!;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}

/** Runs a scan to its end at once. */
export function scanNow(bytes: Buffer, start: number, end: number, options: JsonScanOptions): JsonScan {
  // One more than there is: never reached. Not infinity, which would make every offset of the scan a floating-point number.
  const scan = scanJsonObject(bytes, start, end, options, end - start + 1);
  const step = scan.next();
  if (step.done !== true) throw new Error('a scan without slices paused');
  return step.value;
}
