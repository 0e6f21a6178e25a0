import { type Static, Type } from '@sinclair/typebox';

const file = (description: string) => Type.Optional(Type.String({ description, minLength: 1 }));

/** How a Prometheus server is reached that policies name. */
export const prometheusServerSchema = Type.Object(
  {
    serverURL: Type.String({
      description: 'What `prometheus.serverURL` of policies begins with; credentials go nowhere else.',
      pattern: '^https?://',
    }),
    bearerTokenFile: file('File with a bearer token, read again for each query.'),
    caFile: file('PEM file with the authorities that its certificate may come from. Absent: those of the system.'),
    certFile: file('PEM file with a client certificate. Goes with `keyFile`.'),
    keyFile: file('PEM file with the key of the client certificate.'),
  },
  { additionalProperties: false, description: 'Credentials for one Prometheus server.' },
);

export type PrometheusServerConfig = Readonly<Static<typeof prometheusServerSchema>>;
