import type { JsonMember } from './json-object';
import { scanNow } from './json-object';
import type { Edit } from './splice';

const OPEN_BRACE = 0x7b;

/** Whether a streaming client asked for usage itself, and what to change so that the engine tells it in any case. */
export interface UsageRequest {
  readonly wantsUsage: boolean;
  readonly edit?: Edit;
}

/**
 * Asks the engine for a usage chunk in the least way: the client's other stream options stay as they are.
 *
 * @param member `stream_options` of the body, when it has one. @param bodyStart offset after the body's opening brace.
 */
export function requestUsage(body: Buffer, member: JsonMember | undefined, bodyStart: number): UsageRequest {
  if (member === undefined) {
    return { wantsUsage: false, edit: { start: bodyStart, end: bodyStart, text: '"stream_options":{"include_usage":true},' } };
  }
  if (member.firstByte !== OPEN_BRACE) {
    const isNull = body.toString('latin1', member.valueStart, member.valueEnd) === 'null';
    // Any other type is the engine's to refuse.
    return isNull
      ? { wantsUsage: false, edit: { start: member.valueStart, end: member.valueEnd, text: '{"include_usage":true}' } }
      : { wantsUsage: true };
  }
  const scan = scanNow(body, member.valueStart, member.valueEnd, {
    useOf: (key) => (key === 'include_usage' ? 'read' : 'skip'),
    maxDepth: 16,
  });
  if (scan.kind === 'invalid') return { wantsUsage: true };
  const include = scan.members[0];
  if (include === undefined) {
    const text = scan.isEmpty ? '"include_usage":true' : '"include_usage":true,';
    return { wantsUsage: false, edit: { start: scan.start, end: scan.start, text } };
  }
  if (body.toString('latin1', include.valueStart, include.valueEnd) === 'true') return { wantsUsage: true };
  return { wantsUsage: false, edit: { start: include.valueStart, end: include.valueEnd, text: 'true' } };
}
