import { type ChatMessage, type ChatOptions, type Tokenizer, textOfContent } from './tokenizer';

/** Most bytes of a token. Six bytes are 48 bits, so that an id holds its token's bytes and still is an exact integer. */
const MOST_BYTES = 6;
const FIRST_SPECIAL = 2 ** 48;
const SPECIALS = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'] as const;
const SPECIAL_PATTERN = /(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)/;
const SPACE = 0x20;

/**
 * A tokenizer for models whose files are not at hand: about four bytes of English a token, the same cuts in every context, so that the
 * answer of one turn has the same tokens as part of the next turn's prompt. An id is the number that the token's bytes spell. Chats are
 * rendered as ChatML.
 */
export const approximateTokenizer: Tokenizer = {
  vocabularySize: FIRST_SPECIAL + SPECIALS.length,
  endOfText: FIRST_SPECIAL + 1,

  encode(text) {
    const ids: number[] = [];
    if (!text.includes('<|')) {
      encodePlain(text, ids);
      return ids;
    }
    for (const part of text.split(SPECIAL_PATTERN)) {
      const special = SPECIALS.indexOf(part as (typeof SPECIALS)[number]);
      if (special >= 0) ids.push(FIRST_SPECIAL + special);
      else encodePlain(part, ids);
    }
    return ids;
  },

  decode(ids) {
    const parts: Buffer[] = [];
    for (const id of ids) parts.push(bytesOf(id));
    return Buffer.concat(parts).toString('utf8');
  },

  spelling: (id) => bytesOf(id).toString('utf8'),

  renderChat(messages: readonly ChatMessage[], { tools, addGenerationPrompt }: ChatOptions): string {
    let text =
      tools === undefined || tools.length === 0 ? '' : `<|im_start|>system\n# Tools\n${JSON.stringify(tools)}<|im_end|>\n`;
    for (const message of messages) {
      const calls = message.tool_calls;
      text += `<|im_start|>${message.role}\n${textOfContent(message.content)}${calls === undefined ? '' : JSON.stringify(calls)}<|im_end|>\n`;
    }
    return addGenerationPrompt ? `${text}<|im_start|>assistant\n` : text;
  },
};

/** Cuts before a word with the space in front of it, between kinds of characters, and after `MOST_BYTES`. */
function encodePlain(text: string, ids: number[]): void {
  const bytes = Buffer.from(text, 'utf8');
  let start = 0;
  while (start < bytes.length) {
    let end = start + 1;
    let kind = kindOf(bytes[start]!);
    // A single space belongs to the word behind it; more of them are a token of their own.
    if (bytes[start] === SPACE && end < bytes.length && kindOf(bytes[end]!) === 'word') {
      kind = 'word';
    }
    if (bytes[start] !== 0) {
      while (end < bytes.length && end - start < MOST_BYTES && bytes[end] !== 0 && kindOf(bytes[end]!) === kind) {
        if (kind === 'space' && bytes[end] === SPACE && end + 1 < bytes.length && kindOf(bytes[end + 1]!) === 'word') break;
        end += 1;
      }
    }
    let id = 0;
    for (let i = start; i < end; i++) id = id * 256 + bytes[i]!;
    ids.push(id);
    start = end;
  }
}

function kindOf(byte: number): 'word' | 'space' | 'other' {
  if ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x30 && byte <= 0x39) || byte >= 0x80)
    return 'word';
  return byte === SPACE || (byte >= 0x09 && byte <= 0x0d) ? 'space' : 'other';
}

function bytesOf(id: number): Buffer {
  if (id >= FIRST_SPECIAL) return Buffer.from(SPECIALS[id - FIRST_SPECIAL] ?? '', 'utf8');
  const bytes: number[] = [];
  for (let rest = id; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from(bytes.length === 0 ? [0] : bytes);
}
