import { type JsonMember, scanNow } from '../request/json-object';
import { splice } from '../request/splice';

/** Nesting of an engine's answer that is followed; theirs have about ten. */
const MAX_DEPTH = 256;

/** The text of one top-level member of a JSON object, byte for byte; undefined where there is none or `document` is no object. */
export function memberText(document: Buffer, key: string): string | undefined {
  const member = memberOf(document, key);
  return member === undefined ? undefined : document.toString('utf8', member.valueStart, member.valueEnd);
}

/** A JSON object with the value of one of its members replaced, and every other byte as it was. */
export function withMember(text: string, key: string, value: string): string {
  const document = Buffer.from(text);
  const member = memberOf(document, key);
  if (member === undefined) return text;
  return splice(document, [{ start: member.valueStart, end: member.valueEnd, text: value }]).toString('utf8');
}

function memberOf(document: Buffer, key: string): JsonMember | undefined {
  const scan = scanNow(document, 0, document.length, { useOf: (name) => (name === key ? 'read' : 'skip'), maxDepth: MAX_DEPTH });
  return scan.kind === 'object' ? scan.members[0] : undefined;
}
