import type { FaceContext } from '../face-context';
import { type Handler, sendJson } from '../http/exchange';
import { checkVocabulary } from './admission';
import { chatPrompt } from './chat-request';
import type { VllmDialect } from './dialect';
import { answerErrors, resolveModel } from './models';
import { readBody } from './validation';

/** `POST /tokenize`: a text, or messages as the chat endpoint would see them. */
export function tokenize(context: FaceContext, dialect: VllmDialect): Handler {
  return answerErrors(dialect, ({ request, response, body }) => {
    const fields = readBody(body, request.headers, dialect, {
      required: [],
      fields: {
        model: 'string',
        prompt: 'string',
        messages: 'list',
        tools: 'list',
        add_generation_prompt: 'bool',
        return_token_strs: 'bool',
      },
    });
    resolveModel(context, dialect, fields.model);
    const { tokenizer, core } = context;
    const tokens = Array.isArray(fields.messages)
      ? chatPrompt(fields, context, dialect)
      : tokenizer.encode(String(fields.prompt ?? ''));
    sendJson(response, 200, {
      count: tokens.length,
      max_model_len: core.maxTokens,
      tokens,
      token_strs: fields.return_token_strs === true ? tokens.map((id) => tokenizer.spelling(id)) : null,
    });
  });
}

/** `POST /detokenize`. */
export function detokenize(context: FaceContext, dialect: VllmDialect): Handler {
  return answerErrors(dialect, ({ request, response, body }) => {
    const fields = readBody(body, request.headers, dialect, {
      required: ['tokens'],
      fields: { model: 'string', tokens: 'list' },
    });
    resolveModel(context, dialect, fields.model);
    const ids = (fields.tokens as readonly unknown[]).map(Number);
    checkVocabulary(ids, context.tokenizer.vocabularySize);
    sendJson(response, 200, { prompt: context.tokenizer.decode(ids) });
  });
}
