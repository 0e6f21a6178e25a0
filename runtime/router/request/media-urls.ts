const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;

/** Members of message parts whose text is a URL that an engine fetches. */
const URL_MEMBERS: ReadonlySet<string> = new Set(['image_url', 'video_url', 'audio_url', 'file_url', 'image', 'video', 'audio']);
/** Members that hold an object with a `url`. */
const URL_HOLDERS: ReadonlySet<string> = new Set([...URL_MEMBERS, 'source', 'file', 'input_image', 'input_file']);

/** Longest URL that is looked at; data URLs tell themselves at their beginning. */
const MAX_URL_BYTES = 8 * 1024;
const DATA = 'data:';

/**
 * The URLs of images, videos, audio and files in prompt members of a body, without those that begin with `data:`. Strings are jumped
 * over, so that a picture of megabytes inside costs a search for its end.
 *
 * @param json a value of a body that was scanned before: its strings and brackets are closed.
 * @param sliceBytes bytes after which undefined comes: a place to pause.
 */
export function* mediaUrls(json: Buffer, sliceBytes: number): Generator<string | undefined, void, undefined> {
  /** Keys whose objects are open, outermost first. */
  const open: string[] = [];
  let key = '';
  let pauseAt = sliceBytes;
  for (let position = 0; position < json.length; position++) {
    if (position >= pauseAt) {
      pauseAt = position + sliceBytes;
      yield undefined;
    }
    const byte = json[position]!;
    if (byte === OPEN_BRACE) {
      open.push(key);
      key = '';
    } else if (byte === CLOSE_BRACE) {
      // Inside an array, more may follow under the same key.
      key = open.pop() ?? '';
    } else if (byte === QUOTE) {
      const end = stringEnd(json, position);
      const next = skipSpace(json, end);
      if (json[next] === COLON) {
        // A long key is none that is looked for.
        key = end - position <= 256 ? textOf(json, position, end) : '';
        position = next;
        continue;
      }
      if (URL_MEMBERS.has(key) || (key === 'url' && URL_HOLDERS.has(open[open.length - 1] ?? ''))) {
        const url = urlAt(json, position, end);
        if (url !== undefined) yield url;
      }
      position = end - 1;
    }
  }
}

/** @returns undefined for a data URL. */
function urlAt(json: Buffer, start: number, end: number): string | undefined {
  if (json.toString('latin1', start + 1, start + 1 + DATA.length) === DATA) return undefined;
  if (end - start > MAX_URL_BYTES) return 'longer than any URL';
  const text = textOf(json, start, end);
  return text.slice(0, DATA.length).toLowerCase() === DATA ? undefined : text;
}

/** Text that is no JSON string stands as it is: no rule allows it. */
function textOf(json: Buffer, start: number, end: number): string {
  const raw = json.toString('utf8', start, end);
  try {
    return JSON.parse(raw) as string;
  } catch {
    return raw;
  }
}

/** @returns the offset after the closing quote. */
function stringEnd(json: Buffer, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let escapes = quote;
    while (json[escapes - 1] === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
  return json.length;
}

function skipSpace(json: Buffer, position: number): number {
  let at = position;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at += 1;
  return at;
}
