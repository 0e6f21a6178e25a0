import { elementsOf, fieldsOf, type JsonFields, stringOf } from '../json-fields';
import { untranslatable } from '../untranslatable';

/** A conversation as the messages API has it. */
export interface Turns {
  /** Texts of all system and developer messages; empty when there are none. */
  readonly system: string;
  readonly messages: readonly JsonFields[];
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonFields[];
}

/**
 * Chat messages as turns: system texts are gathered in front, results of tools become part of the user's turn, and what follows from
 * the same side is one turn, since all results of a turn's tools must come together.
 *
 * @throws RouterError `untranslatable`.
 */
export function messagesOf(chat: readonly unknown[]): Turns {
  const system: string[] = [];
  const turns: Turn[] = [];
  const add = (role: Turn['role'], blocks: readonly JsonFields[]): void => {
    if (blocks.length === 0) return;
    const last = turns[turns.length - 1];
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  };
  for (const [index, element] of chat.entries()) {
    const message = fieldsOf(element);
    const path = `messages[${index}]`;
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...blocksOf(message.content, path).map(({ text }) => String(text)));
        break;
      case 'user':
        add('user', blocksOf(message.content, path));
        break;
      case 'assistant':
        add('assistant', [
          ...blocksOf(message.content, path),
          ...textBlock(message.refusal),
          ...elementsOf(message.tool_calls).map((call, i) => toolUseOf(call, `${path}.tool_calls[${i}]`)),
        ]);
        break;
      case 'tool':
        add('user', [{ type: 'tool_result', tool_use_id: message.tool_call_id, content: blocksOf(message.content, path) }]);
        break;
      default:
        throw untranslatable(`${path}.role`, 'is none of system, developer, user, assistant and tool');
    }
  }
  return { system: system.join('\n'), messages: turns.map(plainest) };
}

/** A turn that is one text is written as one. */
function plainest({ role, content }: Turn): JsonFields {
  const [only] = content;
  return { role, content: content.length === 1 && only?.type === 'text' ? only.text : content };
}

/** Empty texts are refused by the messages API, and say nothing. */
function textBlock(text: unknown): readonly JsonFields[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : [];
}

function blocksOf(content: unknown, path: string): readonly JsonFields[] {
  if (!Array.isArray(content)) return textBlock(content);
  return content.flatMap((part, i) => blockOf(fieldsOf(part), `${path}.content[${i}]`));
}

function blockOf(part: JsonFields, path: string): readonly JsonFields[] {
  switch (part.type) {
    case 'text':
      return textBlock(part.text);
    case 'refusal':
      return textBlock(part.refusal);
    case 'image_url':
      return [{ type: 'image', source: sourceOf(stringOf(fieldsOf(part.image_url).url) ?? '') }];
    case 'file': {
      const { file_data: data } = fieldsOf(part.file);
      const source = sourceOf(stringOf(data) ?? '');
      if (source.type !== 'base64')
        throw untranslatable(`${path}.file`, 'only a file that is part of the request can be translated');
      return [{ type: 'document', source }];
    }
    default:
      throw untranslatable(`${path}.type`, 'only text, image_url and file can be translated');
  }
}

const DATA_URL = /^data:([^;,]+);base64,/;

function sourceOf(url: string): JsonFields {
  const head = DATA_URL.exec(url.slice(0, 256));
  return head === null ? { type: 'url', url } : { type: 'base64', media_type: head[1], data: url.slice(head[0].length) };
}

function toolUseOf(call: unknown, path: string): JsonFields {
  const { id, type, function: called } = fieldsOf(call);
  if (type !== undefined && type !== 'function')
    throw untranslatable(`${path}.type`, 'only calls of functions can be translated');
  const { name, arguments: text } = fieldsOf(called);
  return { type: 'tool_use', id, name, input: inputOf(text, path) };
}

function inputOf(text: unknown, path: string): unknown {
  if (text === undefined || text === null || text === '') return {};
  try {
    return JSON.parse(String(text));
  } catch {
    throw untranslatable(`${path}.function.arguments`, 'is no JSON');
  }
}
