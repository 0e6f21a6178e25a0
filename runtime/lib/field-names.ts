/** What no head of a message may hold: control characters, and half a line end. */
const FORBIDDEN_IN_HEAD = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MAX_NAMES = 1_000;
const MAX_NAME_CHARACTERS = 64;

/** Whether the text of a head, without its last line end, has only characters that a head may have. */
export function isHeadText(text: string): boolean {
  return !FORBIDDEN_IN_HEAD.test(text);
}

/** Names of fields as peers of one kind spell them. They send the same dozen, so those are judged once. */
export class FieldNames {
  private readonly known = new Map<string, string>();

  /** @returns the name in lower case; undefined for what is no field name. */
  lower(spelled: string): string | undefined {
    const known = this.known.get(spelled);
    if (known !== undefined) return known;
    if (!FIELD_NAME.test(spelled)) return undefined;
    const name = spelled.toLowerCase();
    if (this.known.size < MAX_NAMES && spelled.length <= MAX_NAME_CHARACTERS) this.known.set(spelled, name);
    return name;
  }
}
