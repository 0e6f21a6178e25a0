import { isUtf8 } from 'node:buffer';
import { RouterError } from '../errors';
import { type ApiPath, LIMIT_MEMBERS, printable } from './api-paths';
import { isForbiddenMember, isGuardedMember } from './forbidden-members';
import { type JsonMember, type JsonScan, type JsonScanOptions, scanJsonObject, scanNow } from './json-object';
import { estimateTokens } from './prompt-size';
import type { Edit } from './splice';
import { requestUsage } from './usage-request';

/** What the router reads of a body, and how the body changes for every endpoint alike. */
export interface ParsedBody {
  readonly model: string;
  /** Where the value of `model` stands; undefined where the body names none. */
  readonly modelSpan: { readonly start: number; readonly end: number; readonly isQuoted: boolean } | undefined;
  readonly streams: boolean;
  /** The client asked for a usage chunk itself. */
  readonly wantsUsage: boolean;
  readonly maxOutputTokens?: number | undefined;
  /** Spans of the body that make up its prompt, in the order in which chat templates use them. */
  readonly promptSpans: readonly Buffer[];
  /** Estimated, ≥ 1. */
  readonly promptTokens: number;
  readonly edits: readonly Edit[];
  /** Guarded members among those that the edits take out. */
  readonly guarded?: readonly string[] | undefined;
  /** The response that this one goes on from. */
  readonly previousResponseId?: string | undefined;
}

/** How a body is read. */
export interface ParseOptions {
  /** Deepest nesting, the body itself being 1. */
  readonly maxDepth: number;
  /** Guarded members that stay. @default none */
  readonly allowed?: ReadonlySet<string>;
}

/** Longest model name: names of routes and adapters are far shorter, and a longer one would only fill logs. */
const MAX_MODEL_CHARACTERS = 1_024;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

function scanOptions({ reads }: ApiPath, { maxDepth, allowed }: ParseOptions): JsonScanOptions {
  return {
    useOf: (key) => (reads.has(key) || allowed?.has(key) === true ? 'read' : isForbiddenMember(key) ? 'drop' : 'skip'),
    maxDepth,
  };
}

/**
 * Reads the members that the router acts on and lists the changes that remove what never passes through and ask for usage.
 *
 * @throws RouterError for a body that is no UTF-8, no JSON object, too deep, or names a member twice that the router reads.
 */
export function parseNow(body: Buffer, api: ApiPath, options: ParseOptions): ParsedBody {
  refuseByteOrderMark(body);
  if (!isUtf8(body)) throw notUtf8();
  const scan = scanNow(body, 0, body.length, scanOptions(api, options));
  if (scan.kind === 'invalid') throw refusal(scan);
  return interpret(body, api, scan, options.allowed);
}

/** Bodies up to this size are parsed in one go; longer ones in slices, so that other requests go on. */
export const SLICE_BYTES = 2 ** 20;

/** As `parseNow`, with a pause after each slice of a long body. @param pause awaited between slices. */
export async function parseBody(
  body: Buffer,
  api: ApiPath,
  options: ParseOptions,
  pause: () => Promise<void>,
): Promise<ParsedBody> {
  if (body.length <= SLICE_BYTES) return parseNow(body, api, options);
  refuseByteOrderMark(body);
  if (!(await isLongUtf8(body, pause))) throw notUtf8();
  const scan = scanJsonObject(body, 0, body.length, scanOptions(api, options), SLICE_BYTES);
  let step = scan.next();
  while (step.done !== true) {
    await pause();
    step = scan.next();
  }
  if (step.value.kind === 'invalid') throw refusal(step.value);
  return interpret(body, api, step.value, options.allowed);
}

function refuseByteOrderMark(body: Buffer): void {
  if (body.length >= 3 && body.compare(BOM, 0, 3, 0, 3) === 0) {
    throw new RouterError('invalid_utf8', 'the body begins with a byte order mark');
  }
}

function notUtf8(): RouterError {
  return new RouterError('invalid_utf8', 'the body is not UTF-8');
}

function interpret(
  body: Buffer,
  api: ApiPath,
  scan: Extract<JsonScan, { kind: 'object' }>,
  allowed: ReadonlySet<string> | undefined,
): ParsedBody {
  const edits: Edit[] = [];
  const { members } = scan;
  let guarded: readonly string[] | undefined;
  for (const member of members) {
    const { key } = member;
    if (api.reads.has(key) || allowed?.has(key) === true) continue;
    removeMember(member, edits);
    if (isGuardedMember(key)) guarded = [...(guarded ?? []), key];
  }
  const modelMember = memberOf(members, 'model');
  const model = modelMember === undefined ? undefined : textOf(body, modelMember);
  if (modelMember === undefined || model === undefined || model.trim() === '') {
    throw new RouterError('missing_model', 'the body names no model', 'model');
  }
  requireShortModel(model);
  const streams = booleanOf(body, memberOf(members, 'stream'));
  const usage =
    streams && api.takesStreamOptions ? requestUsage(body, memberOf(members, 'stream_options'), scan.start) : undefined;
  if (usage?.edit !== undefined) edits.push(usage.edit);
  const promptSpans: Buffer[] = [];
  for (const key of api.prompt) {
    const member = memberOf(members, key);
    if (member !== undefined) promptSpans.push(body.subarray(member.valueStart, member.valueEnd));
  }
  let limit: number | undefined;
  for (const key of LIMIT_MEMBERS) limit ??= numberOf(body, memberOf(members, key));
  return {
    model,
    modelSpan: { start: modelMember.valueStart, end: modelMember.valueEnd, isQuoted: true },
    streams,
    wantsUsage: usage?.wantsUsage ?? true,
    maxOutputTokens: limit,
    promptSpans,
    promptTokens: estimateTokens(promptSpans),
    edits,
    guarded,
    previousResponseId: api.keepsResponses ? previousResponse(body, members) : undefined,
  };
}

/** @throws RouterError `model_not_found` for a name that no route can have. */
export function requireShortModel(model: string): void {
  if (model.length > MAX_MODEL_CHARACTERS) {
    throw new RouterError('model_not_found', `the model’s name is longer than ${MAX_MODEL_CHARACTERS} characters`, 'model');
  }
}

function previousResponse(body: Buffer, members: readonly JsonMember[]): string | undefined {
  const member = memberOf(members, 'previous_response_id');
  if (member === undefined || body.toString('latin1', member.valueStart, member.valueEnd) === 'null') return undefined;
  const id = textOf(body, member);
  if (id === undefined || id === '') {
    throw new RouterError('invalid_member', 'previous_response_id is no text', 'previous_response_id');
  }
  return id;
}

/** A body names a dozen members that are read, at most: a search costs less than a map. */
function memberOf(members: readonly JsonMember[], key: string): JsonMember | undefined {
  for (const member of members) if (member.key === key) return member;
  return undefined;
}

/** A member goes together with the comma after it; the last one with everything since the last member that stays. */
function removeMember(member: JsonMember, edits: Edit[]): void {
  if (member.nextStart !== member.valueEnd) {
    edits.push({ start: member.keyStart, end: member.nextStart, text: '' });
    return;
  }
  while (edits.length > 0 && edits[edits.length - 1]!.start >= member.keptEnd) edits.pop();
  edits.push({ start: member.keptEnd, end: member.valueEnd, text: '' });
}

function textOf(body: Buffer, member: JsonMember): string | undefined {
  if (member.firstByte !== 0x22) return undefined;
  try {
    return JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd)) as string;
  } catch {
    throw new RouterError('invalid_json', `${member.key} is no JSON string`, member.key);
  }
}

/** Engines read `"true"` and 1 as true too; a router that reads them otherwise would treat a stream as a document. */
function booleanOf(body: Buffer, member: JsonMember | undefined): boolean {
  if (member === undefined) return false;
  const text = body.toString('latin1', member.valueStart, Math.min(member.valueEnd, member.valueStart + 8));
  if (text === 'true') return true;
  if (text === 'false' || text === 'null') return false;
  throw new RouterError('invalid_member', 'stream is neither true nor false', 'stream');
}

function numberOf(body: Buffer, member: JsonMember | undefined): number | undefined {
  if (member === undefined || member.valueEnd - member.valueStart > 20) return undefined;
  const value = Number(body.toString('latin1', member.valueStart, member.valueEnd));
  return Number.isInteger(value) && value > 0 ? value : undefined;
}

function refusal(scan: Extract<JsonScan, { kind: 'invalid' }>): RouterError {
  switch (scan.reason) {
    case 'depth':
      return new RouterError('too_deep', `the body is nested too deeply at byte ${scan.offset}`);
    case 'duplicate':
      return new RouterError('duplicate_member', `the body names ${printable(scan.key ?? '')} twice`, scan.key ?? null);
    case 'syntax':
      return new RouterError('invalid_json', `the body is no JSON object (byte ${scan.offset})`);
  }
}

/** Checks in slices that end between characters. */
async function isLongUtf8(body: Buffer, pause: () => Promise<void>): Promise<boolean> {
  for (let start = 0; start < body.length; ) {
    let end = Math.min(body.length, start + SLICE_BYTES);
    for (let back = 0; back < 3 && end < body.length && (body[end]! & 0xc0) === 0x80; back++) end -= 1;
    if (!isUtf8(body.subarray(start, end))) return false;
    start = end;
    await pause();
  }
  return true;
}
