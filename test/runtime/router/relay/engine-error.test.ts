import { readEngineError, statusOfErrorEvent, translateEngineError } from '../../../../runtime/router/relay/engine-error';
import { recordedAnswer } from '../../../helpers/recorded-answer';

describe('an engine’s error', () => {
  it.each([
    ['{"error":{"message":"no","type":"T","param":"p","code":404}}', { message: 'no', type: 'T', param: 'p', code: 404 }],
    ['{"error":"Unauthorized"}', { message: 'Unauthorized', code: 404 }],
    ['{"object":"error","message":"no","type":"T","param":null,"code":404}', { message: 'no', type: 'T', code: 404 }],
    ['{"type":"error","error":{"type":"T","message":"no"}}', { message: 'no', type: 'T' }],
    ['{"detail":"Not Found"}', { message: 'Not Found' }],
    ['{"detail":[{"loc":["body"]}]}', { message: '[{"loc":["body"]}]' }],
    ['Invalid HTTP request received.', { message: 'Invalid HTTP request received.' }],
    ['', { message: 'the engine answered 404' }],
  ])('%s is understood', (body, expected) => {
    expect(readEngineError(404, Buffer.from(body))).toMatchObject(expected);
  });

  it.each([
    ['vllm-0.32.0', 'err_unknown_model_chat', 'openai'],
    ['vllm-0.32.0', 'messages_bad_model', 'anthropic'],
  ] as const)('%s %s in the client’s own dialect passes byte for byte', (engine, name, dialect) => {
    const { status, body } = recordedAnswer(engine, name);
    expect(translateEngineError(status, body, dialect)).toBe(body);
  });

  it.each([
    ['vllm-0.32.0', 'err_unknown_path', 'Not Found'],
    ['vllm-0.32.0', 'messages_bad_model', 'The model `nope` does not exist'],
    ['sglang-0.5.23', 'err_prompt_too_long', 'longer than'],
  ] as const)('%s %s becomes an OpenAI error with its message', (engine, name, message) => {
    const { status, body } = recordedAnswer(engine, name);
    const { error } = JSON.parse(translateEngineError(status, body, 'openai').toString()) as {
      error: { message: string; type: string };
    };
    expect(error.message).toContain(message);
    expect(typeof error.type).toBe('string');
  });

  it('becomes an Anthropic error on messages', () => {
    expect(JSON.parse(translateEngineError(429, Buffer.from('{"error":{"message":"busy"}}'), 'anthropic').toString())).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'busy' },
    });
  });

  it.each([
    ['{"error":{"message":"x","code":404}}', 404],
    ['{"error":{"message":"x","code":"x"}}', 500],
    ['{"error":{"message":"x","code":200}}', 500],
  ])('event %s has the status %i', (payload, status) => {
    expect(statusOfErrorEvent(payload)).toBe(status);
  });
});
