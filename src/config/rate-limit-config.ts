import { type Static, Type } from '@sinclair/typebox';

const count = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: `${description} Absent: no limit.` }));

/** A limit of each client, whatever the model. */
const clientLimitSchema = Type.Object(
  {
    per: Type.Union([Type.Literal('user'), Type.Literal('tenant')], { description: 'Who is counted for itself.' }),
    names: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'Users or tenants that this limit is for. Absent: every one.' }),
    ),
    unit: Type.Union(
      [Type.Literal('second'), Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day'), Type.Literal('month')],
      { description: 'Unit of time of the limit.' },
    ),
    inputTokensPerUnit: count('Prompt tokens allowed per unit of time.'),
    outputTokensPerUnit: count('Generated tokens allowed per unit of time.'),
    requestsPerUnit: count('Requests allowed per unit of time.'),
  },
  {
    additionalProperties: false,
    description: 'What one user or tenant may use. For each unit, the first that is for somebody counts.',
  },
);

/** How limits of routes are counted, and what each client may use. */
export const rateLimitConfigSchema = Type.Object(
  {
    cachedTokenWeight: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'What a prompt token counts that an engine had in its cache.',
    }),
    replicas: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 1,
      description: 'Routers that share limits in Redis: each counts up to its part of them while Redis is away.',
    }),
    clients: Type.Array(clientLimitSchema, {
      default: [],
      description: 'Limits of users and tenants, counted in `redis` where there is one. Requests without a name have none.',
    }),
  },
  { default: {}, additionalProperties: false, description: 'Limits per unit of time.' },
);

export type RateLimitConfig = Static<typeof rateLimitConfigSchema>;
export type ClientLimit = Static<typeof clientLimitSchema>;
