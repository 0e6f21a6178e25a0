import { Type } from '@sinclair/typebox';

/** How requests to pods that split prefill and decode go. */
export const disaggregationSchema = Type.Object(
  {
    wholeBelowTokens: Type.Integer({
      minimum: 0,
      maximum: 10_000_000,
      default: 256,
      description:
        'A decode pod that lacks fewer prompt tokens than this in its cache is weighed beside pairs, to compute them itself; 0: never. Not for SGLang, whose decode pods cannot.',
    }),
  },
  { default: {}, additionalProperties: false, description: 'Pods that split prefill and decode.' },
);
