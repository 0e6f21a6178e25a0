import { errorDocument, type RouterError, textOf } from '../errors';
import type { ApiPath } from '../request/api-paths';

/**
 * The event that ends a stream which broke off. It begins with an empty line, so that it stands alone even after half an event; no
 * `[DONE]` follows, since clients take that for a whole answer.
 */
export function streamErrorEvent(error: RouterError, api: ApiPath): string {
  const text = textOf(error);
  if (api.streamEnd === 'response-event') {
    return event('error', { type: 'error', code: text.code, message: text.message, param: text.param });
  }
  if (api.dialect === 'anthropic') return event('error', errorDocument(text, 'anthropic'));
  return `\n\ndata: ${JSON.stringify(errorDocument(text, 'openai'))}\n\n`;
}

function event(name: string, document: object): string {
  return `\n\nevent: ${name}\ndata: ${JSON.stringify(document)}\n\n`;
}

/** The event that tells the document of an error, as the router makes it, in a stream that has begun. */
export function documentAsEvent(document: string, { streamEnd, dialect }: ApiPath): string {
  if (streamEnd === 'response-event') {
    const { code, message, param } = (JSON.parse(document) as { error: { code: unknown; message: string; param: unknown } })
      .error;
    return event('error', { type: 'error', code, message, param });
  }
  return dialect === 'anthropic' ? `\n\nevent: error\ndata: ${document}\n\n` : `\n\ndata: ${document}\n\n`;
}
