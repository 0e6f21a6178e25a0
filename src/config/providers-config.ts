import { type Static, Type } from '@sinclair/typebox';

const tokenPrice = (description: string) => Type.Number({ minimum: 0, default: 0, description });

/** What tokens of one provider cost. */
const priceSchema = Type.Object(
  {
    inputPerMillion: tokenPrice('A million prompt tokens, in any currency that all providers share.'),
    outputPerMillion: tokenPrice('A million generated tokens, in the same currency.'),
  },
  { additionalProperties: false },
);

/** How external model providers are reached, and which of several is taken. */
export const providersSchema = Type.Object(
  {
    caFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file of authorities that may sign certificates of providers, beside those of Node; read at the start.',
      }),
    ),
    selection: Type.Union([Type.Literal('weight'), Type.Literal('cost')], {
      default: 'weight',
      description:
        'Which provider of a rule takes a request that goes to one: drawn by weight, or the one of least time and price as it is now.',
    }),
    secondsPerUnit: Type.Number({
      minimum: 0,
      maximum: 1e9,
      default: 0,
      description: 'With `cost`: the seconds of waiting that one unit of the currency is worth. 0: only time counts.',
    }),
    prices: Type.Record(Type.String({ pattern: '^[^/\\s]+/[^/\\s]+$' }), priceSchema, {
      default: {},
      additionalProperties: false,
      description: "With `cost`: prices by the provider's namespace/name. One that is not named is free.",
    }),
  },
  { default: {}, additionalProperties: false, description: 'External model providers.' },
);

export type ProvidersConfig = Static<typeof providersSchema>;
