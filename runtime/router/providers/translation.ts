import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { chatCompletion } from './anthropic/chat-completion';
import { ChatStream } from './anthropic/chat-stream';
import { messagesRequest } from './anthropic/messages-request';
import { fieldsOf, type JsonFields } from './json-fields';
import { chatRequest } from './openai/chat-request';
import { message } from './openai/message';
import { MessageStream } from './openai/message-stream';
import type { StreamTranslator } from './stream-translator';

/** Translates between a client that speaks one API and a provider that speaks the other. */
export interface Translation {
  /** @param request body of the client's request. @throws RouterError `untranslatable`. */
  request(request: JsonFields, model: string): JsonFields;
  /** @param answer of the provider, whole. @throws SyntaxError. */
  answer(answer: JsonFields): JsonFields;
  /** A new translator for the provider's stream. @param request body of the client's request. */
  stream(request: JsonFields): StreamTranslator;
}

/**
 * The translation for clients of the API that the provider does not have.
 *
 * @param nowSeconds epoch.
 */
export function translationFor({ providerType, baseURL }: ExternalModelProvider['spec'], nowSeconds: () => number): Translation {
  if (providerType === 'Anthropic') {
    return {
      request: messagesRequest,
      answer: (answer) => chatCompletion(answer, nowSeconds()),
      stream: (request) =>
        new ChatStream({
          createdSeconds: nowSeconds(),
          includesUsage: fieldsOf(request.stream_options).include_usage === true,
        }),
    };
  }
  const limitMember = hasOwnModels(baseURL) ? 'max_completion_tokens' : 'max_tokens';
  return {
    request: (request, model) => chatRequest(request, { model, limitMember }),
    answer: message,
    stream: () => new MessageStream(),
  };
}

/** OpenAI itself, or its models in Azure. */
function hasOwnModels(baseURL: string): boolean {
  return URL.canParse(baseURL) && /(?:^|\.)openai\.(?:com|azure\.com)$/.test(new URL(baseURL).hostname);
}
