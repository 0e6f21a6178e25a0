import { isUtf8 } from 'node:buffer';
import { RouterError } from '../errors';

/** One part of a form. Offsets are into the body. */
export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  /** Where its delimiter begins. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Where the next delimiter begins. */
  readonly nextStart: number;
}

/** Parts of one form: requests have a dozen. */
const MAX_PARTS = 256;
const MAX_HEAD_BYTES = 8 * 1024;
const CRLF = '\r\n';

/**
 * The boundary that a content type names.
 *
 * @throws RouterError `invalid_multipart`: it is no form, or one of which two readers could read different boundaries.
 */
export function boundaryOf(contentType: string | undefined): string {
  const match = CONTENT_TYPE.exec(contentType ?? '');
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw broken('the content type is not multipart/form-data with one boundary');
  return boundary;
}

const CONTENT_TYPE =
  /^multipart\/form-data[ \t]*;[ \t]*boundary=(?:"([0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-])"|([!#$%&'*+.^_`|~0-9A-Za-z-]{1,70}))[ \t]*$/i;

/**
 * Finds the parts of a form in its bytes; files are jumped over. Only the plainest form is taken, since what the router reads and what
 * the engine reads must be the same.
 *
 * @param sliceBytes bytes after which `pause` is awaited.
 * @throws RouterError `invalid_multipart`.
 */
export async function readForm(
  body: Buffer,
  boundary: string,
  sliceBytes: number,
  pause: () => Promise<void>,
): Promise<readonly FormPart[]> {
  const first = `--${boundary}${CRLF}`;
  if (body.toString('latin1', 0, first.length) !== first) throw broken('the form does not begin with its boundary');
  const delimiter = Buffer.from(`${CRLF}--${boundary}`, 'latin1');
  const parts: FormPart[] = [];
  let start = 0;
  let position = first.length;
  for (;;) {
    if (parts.length === MAX_PARTS) throw broken(`the form has more than ${MAX_PARTS} parts`);
    const headEnd = body.subarray(position, position + MAX_HEAD_BYTES).indexOf('\r\n\r\n');
    if (headEnd === -1) throw broken('a part of the form has no end of its head');
    const { name, isFile } = readPartHead(body.subarray(position, position + headEnd));
    const valueStart = position + headEnd + 4;
    let from = valueStart;
    let valueEnd = -1;
    while (valueEnd === -1) {
      const found = body.subarray(from, from + sliceBytes + delimiter.length).indexOf(delimiter);
      if (found !== -1) valueEnd = from + found;
      else if (from + sliceBytes >= body.length) throw broken('the form does not end with its boundary');
      else {
        from += sliceBytes;
        await pause();
      }
    }
    const nextStart = valueEnd + CRLF.length;
    parts.push({ name, isFile, start, valueStart, valueEnd, nextStart });
    start = nextStart;
    position = valueEnd + delimiter.length;
    const next = body.toString('latin1', position, position + 2);
    if (next === CRLF) {
      position += CRLF.length;
      continue;
    }
    const rest = body.toString('latin1', position, Math.min(body.length, position + 8));
    if (rest !== '--' && rest !== `--${CRLF}`) throw broken('the form goes on after its end, or has its boundary inside a part');
    return parts;
  }
}

/** The text of a part that is no file. @throws RouterError `invalid_multipart`. */
export function textOfPart(body: Buffer, { name, isFile, valueStart, valueEnd }: FormPart): string {
  const bytes = body.subarray(valueStart, valueEnd);
  if (isFile || !isUtf8(bytes)) throw broken(`the field ${name} is no text`);
  return bytes.toString('utf8');
}

function readPartHead(head: Buffer): { readonly name: string; readonly isFile: boolean } {
  let disposition: string | undefined;
  for (const line of head.toString('latin1').split(CRLF)) {
    const header = HEADER.exec(line);
    if (header === null) throw broken('a part of the form has a malformed header');
    if (header[1]!.toLowerCase() !== 'content-disposition') continue;
    if (disposition !== undefined) throw broken('a part of the form has two content dispositions');
    disposition = header[2]!.trim();
  }
  const names: string[] = [];
  let isFile = false;
  const match = /^form-data/i.exec(disposition ?? '');
  if (match === null) throw broken('a part of the form has no content disposition of form-data');
  const parameters = new RegExp(PARAMETER, 'iy');
  parameters.lastIndex = match[0].length;
  while (parameters.lastIndex < disposition!.length) {
    const parameter = parameters.exec(disposition!);
    if (parameter === null) throw broken('a part of the form has a malformed content disposition');
    if (parameter[1]!.toLowerCase() === 'name') names.push(parameter[2] ?? parameter[3] ?? '');
    else isFile = true;
  }
  const name = names[0];
  if (names.length !== 1 || name === undefined || !NAME.test(name)) {
    throw broken('a part of the form has no name of letters, digits, dots, dashes, underscores and brackets');
  }
  return { name, isFile };
}

// Control characters never; a folded line begins with white space and is no header here.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/;
// A quote or a backslash inside quotes is read in two ways, so neither is taken.
const PARAMETER = /[ \t]*;[ \t]*(name|filename\*?)=(?:"([^"\\]*)"|([^\s;"\\]+))/.source;
const NAME = /^[A-Za-z0-9_.[\]-]{1,200}$/;

function broken(what: string): RouterError {
  return new RouterError('invalid_multipart', what);
}
