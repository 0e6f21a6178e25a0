import { isUtf8 } from 'node:buffer';
import { RouterError } from '../errors';
import { type ApiPath, printable } from './api-paths';
import { isForbiddenMember } from './forbidden-members';
import { type JsonMember, type JsonScan, type KeyUse, scanJsonObject, scanNow } from './json-object';
import { estimateTokens } from './prompt-size';
import type { Edit } from './splice';
import { requestUsage } from './usage-request';

/** What the router reads of a body, and how the body changes for every endpoint alike. */
export interface ParsedBody {
  readonly model: string;
  /** Where the value of `model` stands. */
  readonly modelSpan: { readonly start: number; readonly end: number };
  readonly streams: boolean;
  /** The client asked for a usage chunk itself. */
  readonly wantsUsage: boolean;
  readonly maxOutputTokens?: number | undefined;
  /** Spans of the body that make up its prompt, in the order in which chat templates use them. */
  readonly promptSpans: readonly Buffer[];
  /** Estimated, ≥ 1. */
  readonly promptTokens: number;
  readonly edits: readonly Edit[];
}

/** Members that make up the prompt; tools and instructions come first in the templates of engines. */
const PROMPT_MEMBERS = [
  'tools',
  'system',
  'instructions',
  'messages',
  'prompt',
  'input',
  'query',
  'documents',
  'text_1',
  'text_2',
] as const;
const LIMIT_MEMBERS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const;
const READ: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', ...LIMIT_MEMBERS, ...PROMPT_MEMBERS]);

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

function useOf(key: string): KeyUse {
  if (READ.has(key)) return 'read';
  return isForbiddenMember(key) ? 'drop' : 'skip';
}

/**
 * Reads the members that the router acts on and lists the changes that remove what never passes through and ask for usage.
 *
 * @throws RouterError for a body that is no UTF-8, no JSON object, too deep, or names a member twice that the router reads.
 */
export function parseNow(body: Buffer, api: ApiPath, maxDepth: number): ParsedBody {
  refuseByteOrderMark(body);
  if (!isUtf8(body)) throw notUtf8();
  const scan = scanNow(body, 0, body.length, { useOf, maxDepth });
  if (scan.kind === 'invalid') throw refusal(scan);
  return interpret(body, api, scan);
}

/** Bodies up to this size are parsed in one go; longer ones in slices, so that other requests go on. */
export const SLICE_BYTES = 2 ** 20;

/** As `parseNow`, with a pause after each slice of a long body. @param pause awaited between slices. */
export async function parseBody(body: Buffer, api: ApiPath, maxDepth: number, pause: () => Promise<void>): Promise<ParsedBody> {
  if (body.length <= SLICE_BYTES) return parseNow(body, api, maxDepth);
  refuseByteOrderMark(body);
  if (!(await isLongUtf8(body, pause))) throw notUtf8();
  const scan = scanJsonObject(body, 0, body.length, { useOf, maxDepth, sliceBytes: SLICE_BYTES });
  let step = scan.next();
  while (step.done !== true) {
    await pause();
    step = scan.next();
  }
  if (step.value.kind === 'invalid') throw refusal(step.value);
  return interpret(body, api, step.value);
}

function refuseByteOrderMark(body: Buffer): void {
  if (body.length >= 3 && body.compare(BOM, 0, 3, 0, 3) === 0) {
    throw new RouterError('invalid_utf8', 'the body begins with a byte order mark');
  }
}

function notUtf8(): RouterError {
  return new RouterError('invalid_utf8', 'the body is not UTF-8');
}

function interpret(body: Buffer, api: ApiPath, scan: Extract<JsonScan, { kind: 'object' }>): ParsedBody {
  const edits: Edit[] = [];
  for (const member of scan.members) {
    if (!READ.has(member.key)) removeMember(member, edits);
  }
  const { members } = scan;
  const modelMember = memberOf(members, 'model');
  const model = modelMember === undefined ? undefined : textOf(body, modelMember);
  if (modelMember === undefined || model === undefined || model.trim() === '') {
    throw new RouterError('missing_model', 'the body names no model', 'model');
  }
  const streams = booleanOf(body, memberOf(members, 'stream'));
  const usage =
    streams && api.takesStreamOptions ? requestUsage(body, memberOf(members, 'stream_options'), scan.start) : undefined;
  if (usage?.edit !== undefined) edits.push(usage.edit);
  const promptSpans: Buffer[] = [];
  for (const key of PROMPT_MEMBERS) {
    const member = memberOf(members, key);
    if (member !== undefined) promptSpans.push(body.subarray(member.valueStart, member.valueEnd));
  }
  let limit: number | undefined;
  for (const key of LIMIT_MEMBERS) limit ??= numberOf(body, memberOf(members, key));
  return {
    model,
    modelSpan: { start: modelMember.valueStart, end: modelMember.valueEnd },
    streams,
    wantsUsage: usage?.wantsUsage ?? true,
    maxOutputTokens: limit,
    promptSpans,
    promptTokens: estimateTokens(promptSpans),
    edits,
  };
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
