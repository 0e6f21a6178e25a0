import type { JsonMember } from '../request/json-object';
import { scanNow } from '../request/json-object';
import { type Edit, splice } from '../request/splice';

/** Members of a chat or completion request that the two legs are made of. */
const READ: ReadonlySet<string> = new Set([
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'min_tokens',
  'messages',
  'n',
  'best_of',
  'prompt',
  'echo',
  'prompt_logprobs',
]);

/** What prefill's request has in place of the client's own. It makes one token of one choice and never streams. */
const PREFILL_VALUES: Readonly<Record<string, string>> = {
  stream: 'false',
  stream_options: 'null',
  max_tokens: '1',
  max_completion_tokens: '1',
  min_tokens: '0',
};
/** Choices share a prompt, whose KV is needed once where decode finds it by content. */
const ONE_CHOICE: Readonly<Record<string, string>> = { ...PREFILL_VALUES, n: '1', best_of: '1' };

/** Largest nesting; the body was checked against the configured one before. */
const MAX_DEPTH = 10_000;

/** The body of a request to engines, and the two that prefill and decode get of it. Sampling stays as the client wrote it. */
export class LegBodies {
  private readonly members: readonly JsonMember[];
  private readonly start: number;

  /** @param body as an engine would get it whole: a JSON object. */
  constructor(private readonly body: Buffer) {
    const scan = scanNow(body, 0, body.length, { useOf: (key) => (READ.has(key) ? 'read' : 'skip'), maxDepth: MAX_DEPTH });
    this.members = scan.kind === 'object' ? scan.members : [];
    this.start = scan.kind === 'object' ? scan.start : 0;
  }

  /** Prompts × choices, ≥ 1: the hand-offs that the request takes. */
  get generations(): number {
    return this.prompts() * Math.max(this.count('n'), this.count('best_of'));
  }

  /** Whether the answer tells of the prompt's own tokens, which only who computes the prompt can. */
  get wantsPromptTokens(): boolean {
    const echo = this.text('echo');
    const logprobs = this.text('prompt_logprobs');
    return (echo !== undefined && echo !== 'false' && echo !== 'null') || (logprobs !== undefined && logprobs !== 'null');
  }

  /** @param members of the hand-off, without braces. @param keepsChoices whether each choice is computed on its own. */
  prefill(members: string, keepsChoices: boolean): Buffer {
    const values = keepsChoices ? PREFILL_VALUES : ONE_CHOICE;
    const edits: Edit[] = [];
    for (const { key, valueStart, valueEnd } of this.members) {
      const text = values[key];
      if (text !== undefined) edits.push({ start: valueStart, end: valueEnd, text });
    }
    // As recorded: chat has two names for its limit, and both are said.
    const said =
      this.find('messages') === undefined ? ['stream', 'max_tokens'] : ['stream', 'max_tokens', 'max_completion_tokens'];
    const missing = said.filter((key) => this.find(key) === undefined).map((key) => `"${key}":${values[key]}`);
    return splice(this.body, [...edits, ...this.insertion([members, ...missing])]);
  }

  /** @param members of the hand-off, without braces. */
  decode(members: string): Buffer {
    return splice(this.body, this.insertion([members]));
  }

  /** The object is not empty: it names a model. */
  private insertion(texts: readonly string[]): Edit[] {
    const text = texts.filter((each) => each !== '').join(',');
    return text === '' ? [] : [{ start: this.start, end: this.start, text: `${text},` }];
  }

  private prompts(): number {
    const member = this.find('prompt');
    if (member === undefined || this.body[member.valueStart] !== 0x5b) return 1;
    let list: unknown;
    try {
      list = JSON.parse(this.body.toString('utf8', member.valueStart, member.valueEnd));
    } catch {
      // An escape that is none: the engine will say so.
      return 1;
    }
    // A list of token ids is one prompt.
    return Array.isArray(list) && (typeof list[0] === 'string' || Array.isArray(list[0])) ? list.length : 1;
  }

  private count(key: string): number {
    const value = Number(this.text(key) ?? 1);
    return Number.isInteger(value) && value > 1 ? value : 1;
  }

  private text(key: string): string | undefined {
    const member = this.find(key);
    return member === undefined ? undefined : this.body.toString('latin1', member.valueStart, member.valueEnd);
  }

  private find(key: string): JsonMember | undefined {
    return this.members.find((member) => member.key === key);
  }
}
