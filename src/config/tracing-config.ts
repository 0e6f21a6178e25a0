import { type Static, Type } from '@sinclair/typebox';

/** Spans of requests, for a collector of OpenTelemetry. */
export const tracingSchema = Type.Object(
  {
    endpoint: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/@]+(/\\S*)?$',
        description:
          'Where spans go by OTLP over HTTP, with its path, such as `http://collector:4318/v1/traces`. Absent: none are made, and `traceparent` passes as it came.',
      }),
    ),
    sampleRatio: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.01,
      description: 'Share of requests with spans, of those whose client has not decided.',
    }),
    followClients: Type.Boolean({
      default: true,
      description:
        'Whether a client’s `traceparent` decides for its request. Off: it is still the parent, and the ratio decides.',
    }),
    serviceName: Type.String({ minLength: 1, default: 'kvasir-router', description: 'Name of the router in traces.' }),
  },
  { default: {}, additionalProperties: false, description: 'OpenTelemetry traces.' },
);

export type TracingConfig = Static<typeof tracingSchema>;
