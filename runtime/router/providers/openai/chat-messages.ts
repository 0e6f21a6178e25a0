import { elementsOf, fieldsOf, type JsonFields, stringOf } from '../json-fields';
import { untranslatable } from '../untranslatable';

/**
 * The turns of a messages request as chat messages: results of tools become messages of their own before the rest of their turn, and
 * the model's thinking is left out, since its signature means nothing to another provider.
 *
 * @throws RouterError `untranslatable`.
 */
export function chatMessages(system: unknown, turns: readonly unknown[]): readonly JsonFields[] {
  const messages: JsonFields[] = [];
  const systemText = textsOf(system, 'system');
  if (systemText !== '') messages.push({ role: 'system', content: systemText });
  for (const [index, element] of turns.entries()) {
    const { role, content } = fieldsOf(element);
    const path = `messages[${index}]`;
    if (role === 'user') messages.push(...userMessages(content, path));
    else if (role === 'assistant') messages.push(assistantMessage(content, path));
    else if (role === 'system') messages.push({ role, content: textsOf(content, path) });
    else throw untranslatable(`${path}.role`, 'is none of user, assistant and system');
  }
  return messages;
}

function userMessages(content: unknown, path: string): readonly JsonFields[] {
  if (!Array.isArray(content)) return [{ role: 'user', content }];
  const results: JsonFields[] = [];
  const parts: JsonFields[] = [];
  for (const [i, element] of content.entries()) {
    const block = fieldsOf(element);
    const at = `${path}.content[${i}]`;
    if (block.type !== 'tool_result') {
      parts.push(partOf(block, at));
      continue;
    }
    const found = Array.isArray(block.content)
      ? block.content.map((each, j) => partOf(fieldsOf(each), `${at}.content[${j}]`))
      : [];
    const texts = found.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []));
    results.push({ role: 'tool', tool_call_id: block.tool_use_id, content: stringOf(block.content) ?? texts.join('\n') });
    // A tool's message holds text only; its pictures go to the user's.
    parts.push(...found.filter(({ type }) => type !== 'text'));
  }
  if (parts.length === 0) return results;
  const [only] = parts;
  return [...results, { role: 'user', content: parts.length === 1 && only?.type === 'text' ? only.text : parts }];
}

function assistantMessage(content: unknown, path: string): JsonFields {
  if (!Array.isArray(content)) return { role: 'assistant', content };
  const texts: string[] = [];
  const calls: JsonFields[] = [];
  for (const [i, element] of content.entries()) {
    const block = fieldsOf(element);
    switch (block.type) {
      case 'text':
        texts.push(String(block.text));
        break;
      case 'tool_use':
        calls.push({
          id: block.id,
          type: 'function',
          function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
        });
        break;
      case 'thinking':
      case 'redacted_thinking':
        break;
      default:
        throw untranslatable(`${path}.content[${i}].type`, 'only text, tool_use and thinking can be translated');
    }
  }
  const text = texts.join('');
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function partOf(block: JsonFields, path: string): JsonFields {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return { type: 'image_url', image_url: { url: urlOf(fieldsOf(block.source), `${path}.source`) } };
    case 'document': {
      const source = fieldsOf(block.source);
      if (source.type === 'text') return { type: 'text', text: source.data };
      if (source.type !== 'base64') throw untranslatable(`${path}.source.type`, 'only base64 and text can be translated');
      const filename = stringOf(block.title) ?? 'document.pdf';
      return { type: 'file', file: { filename, file_data: urlOf(source, `${path}.source`) } };
    }
    default:
      throw untranslatable(`${path}.type`, 'only text, image, document and tool_result can be translated');
  }
}

function urlOf(source: JsonFields, path: string): unknown {
  if (source.type === 'url') return source.url;
  if (source.type !== 'base64') throw untranslatable(`${path}.type`, 'only base64 and url can be translated');
  return `data:${String(source.media_type)};base64,${String(source.data)}`;
}

function textsOf(content: unknown, path: string): string {
  if (!Array.isArray(content)) return stringOf(content) ?? '';
  return elementsOf(content)
    .map((element, i) => {
      const { type, text } = fieldsOf(element);
      if (type !== 'text') throw untranslatable(`${path}[${i}].type`, 'only text can be translated');
      return String(text);
    })
    .join('\n');
}
