import { type Static, Type } from '@sinclair/typebox';

/** A service that judges prompts and answers. */
export const guardrailSchema = Type.Object(
  {
    url: Type.String({
      pattern: '^https?://[^\\s/@]+(/\\S*)?$',
      description: 'Where it is asked by POST, such as `http://guard.safety:8080/check`.',
    }),
    phases: Type.Array(Type.Union([Type.Literal('before'), Type.Literal('after')]), {
      minItems: 1,
      uniqueItems: true,
      default: ['before'],
      description: '`before`: requests, before they go to an engine; `after`: answers, before the client gets them.',
    }),
    models: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description: 'Models as clients name them whose requests and answers are judged. Absent: all.',
      }),
    ),
    onFailure: Type.Union([Type.Literal('refuse'), Type.Literal('allow')], {
      default: 'refuse',
      description: 'What becomes of a request or answer that could not be judged: too late, no verdict, or too long.',
    }),
    timeoutMs: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 2_000,
      description: 'Longest wait for a verdict. Milliseconds.',
    }),
    streamWindowCharacters: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 400,
      description: 'Text of a stream that is held for one verdict; a client reads its first token that much later.',
    }),
    answerBytes: Type.Integer({
      minimum: 1,
      maximum: 2 ** 30,
      default: 4 * 2 ** 20,
      description: 'Longest answer that is judged; a longer one could not be.',
    }),
    tokenFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'File with a token that is sent as `Authorization: Bearer`, read at each question.',
      }),
    ),
    caFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file of authorities that may sign its certificate, in place of Node’s own.',
      }),
    ),
  },
  { additionalProperties: false, description: 'A service that judges prompts and answers. Absent: nobody is asked.' },
);

export type GuardrailConfig = Static<typeof guardrailSchema>;
