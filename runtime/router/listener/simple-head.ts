import type { IncomingHttpHeaders } from 'node:http';
import { FieldNames, isHeadText } from '../../lib/field-names';

/** The head of a request that every reader of HTTP/1.1 takes in the same way. */
export interface SimpleHead {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly url: string;
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** name as it was spelled, value, name, value. */
  readonly rawHeaders: string[];
  readonly bodyBytes: number;
  /** Where the body begins. */
  readonly end: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** Longer heads, and those of more fields, are left to the general server and its limits. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_FIELDS = 100;
const REQUEST_LINE = /^(GET|POST) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const LENGTH = /^\d{1,15}$/;
/** As clients spell them. */
const NAMES = new FieldNames();
/** Fields that change how the message is read, or who reads it. */
const UNUSUAL: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'upgrade',
  'expect',
  'http2-settings',
  'trailer',
  'keep-alive',
]);

/**
 * Reads a head that is here as a whole and can be read in one way only: GET or POST of a path, HTTP/1.1, one Host, no field twice, a body
 * of a stated length or none.
 *
 * @returns undefined for every other, good or bad: the general server judges it.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1 || headEnd > MAX_HEAD_BYTES) return undefined;
  const text = bytes.toString('latin1', 0, headEnd);
  if (!isHeadText(text)) return undefined;
  let lineEnd = text.indexOf('\r\n');
  const line = REQUEST_LINE.exec(lineEnd === -1 ? text : text.slice(0, lineEnd));
  if (line === null) return undefined;
  const headers: IncomingHttpHeaders = {};
  const rawHeaders: string[] = [];
  while (lineEnd !== -1) {
    const lineStart = lineEnd + 2;
    lineEnd = text.indexOf('\r\n', lineStart);
    const colon = text.indexOf(':', lineStart);
    const valueEnd = lineEnd === -1 ? text.length : lineEnd;
    if (colon === -1 || colon > valueEnd) return undefined;
    const spelled = text.slice(lineStart, colon);
    const name = NAMES.lower(spelled);
    if (name === undefined || headers[name] !== undefined || UNUSUAL.has(name)) return undefined;
    const value = withoutSpace(text, colon + 1, valueEnd);
    headers[name] = value;
    rawHeaders.push(spelled, value);
  }
  const { host, connection, 'content-length': length } = headers;
  if (host === undefined || rawHeaders.length > 2 * MAX_FIELDS) return undefined;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined;
  if (length !== undefined && !LENGTH.test(length)) return undefined;
  const method = line[1] as SimpleHead['method'];
  const bodyBytes = length === undefined ? 0 : Number(length);
  if (method === 'GET' && bodyBytes > 0) return undefined;
  return { method, url: line[2]!, headers, rawHeaders, bodyBytes, end: headEnd + HEAD_END.length };
}

/** A value without the space and tabs around it: no other kind of space belongs to the head's grammar. */
function withoutSpace(text: string, start: number, end: number): string {
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
