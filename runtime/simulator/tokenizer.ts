/** One message of a chat as it came over the wire. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

export interface ChatOptions {
  readonly tools?: readonly unknown[];
  /** Whether the prompt ends with the opening of an answer. */
  readonly addGenerationPrompt: boolean;
  /** Further variables of the template. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Text to token ids and back, and a model's chat template. */
export interface Tokenizer {
  /** Ids below this are in the vocabulary. */
  readonly vocabularySize: number;
  /** The token that ends an answer; undefined when the model has none. */
  readonly endOfText: number | undefined;
  /** Special tokens that stand in `text` become one token each. */
  encode(text: string): number[];
  decode(ids: readonly number[]): string;
  /** The token as the vocabulary spells it. */
  spelling(id: number): string;
  /** @throws Error with the template's own sentence when it refuses the messages. */
  renderChat(messages: readonly ChatMessage[], options: ChatOptions): string;
}

/** The text of a message's content: itself, or its text parts, each on a line of its own. */
export function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isTextPart(part) ? part.text : '')).join('\n');
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && typeof (part as { text?: unknown }).text === 'string';
}
