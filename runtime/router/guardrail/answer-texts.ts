/** Members of an answer whose strings a client may show or act on, in the dialects of OpenAI and Anthropic. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'refusal',
  'reasoning',
  'reasoning_content',
  'thinking',
  'partial_json',
  'arguments',
  'name',
  'delta',
  'transcript',
]);
/** Members that tell apart what is said at the same time. */
const PLACES = ['index', 'output_index', 'content_index'] as const;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The texts of an answer: one for each choice, message or block, in order of their first word. Pieces of a stream are added up, so that
 * text which was cut anywhere reads as a whole.
 */
export class AnswerTexts {
  private readonly byPlace = new Map<string, string>();
  /** Of all texts. */
  characters = 0;

  get all(): readonly string[] {
    return [...this.byPlace.values()];
  }

  /** @param json a document, or the data of one event; what is no JSON is text itself. */
  add(json: string): void {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      if (json !== '[DONE]') this.append('', json);
      return;
    }
    // The last events of such a stream repeat what was told in pieces.
    const type = isFields(value) ? value.type : undefined;
    if (typeof type === 'string' && type.startsWith('response.') && !type.endsWith('.delta')) return;
    this.walk(value, '');
  }

  private walk(value: unknown, place: string): void {
    if (Array.isArray(value)) {
      // A vector of numbers may be long.
      if (typeof value[0] === 'number') return;
      for (const [index, each] of value.entries()) this.walk(each, isPlaced(each) ? place : `${place}[${index}]`);
      return;
    }
    if (!isFields(value)) return;
    for (const name of PLACES) {
      if (typeof value[name] === 'number') place += `[${value[name]}]`;
    }
    for (const [name, each] of Object.entries(value)) {
      if (typeof each === 'string') {
        if (TEXT_MEMBERS.has(name)) this.append(place, each);
      } else if (name === 'input' && isFields(each)) {
        // What a tool is called with, under names of its own.
        this.append(place, Object.keys(each).length === 0 ? '' : JSON.stringify(each));
      } else this.walk(each, place);
    }
  }

  private append(place: string, text: string): void {
    if (text === '') return;
    this.byPlace.set(place, (this.byPlace.get(place) ?? '') + text);
    this.characters += text.length;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlaced(value: unknown): boolean {
  return isFields(value) && PLACES.some((name) => typeof value[name] === 'number');
}
