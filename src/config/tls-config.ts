import { type Static, Type } from '@sinclair/typebox';
import type { Finding } from '../errors';

const file = (description: string) => Type.String({ minLength: 1, description });

/** How the router serves requests encrypted. */
export const tlsSchema = Type.Object(
  {
    certFile: file('PEM file with the certificate of the router, then those that lead to its authority.'),
    keyFile: file('PEM file with the private key of the certificate.'),
    clientCaFile: Type.Optional(
      file('PEM file of the authorities that sign certificates of clients; who has none is refused. Absent: nobody needs one.'),
    ),
    minVersion: Type.Union([Type.Literal('TLSv1.2'), Type.Literal('TLSv1.3')], {
      default: 'TLSv1.2',
      description: 'Oldest version that is spoken.',
    }),
    http2: Type.Object(
      {
        maxConcurrentStreams: Type.Integer({
          minimum: 1,
          maximum: 100_000,
          default: 256,
          description: 'Requests under way at one time on one connection; clients wait, or open another one.',
        }),
        initialWindowBytes: Type.Integer({
          // Anything smaller makes a long prompt wait for round trips: 64 KiB at 20 ms are 3 MB/s.
          minimum: 2 ** 20,
          maximum: 2 ** 31 - 1,
          default: 2 ** 20,
          description: 'Bytes of one request body that a client may send before the router has taken them.',
        }),
        maxSessionMemoryMiB: Type.Integer({
          minimum: 1,
          maximum: 4096,
          default: 64,
          description: 'Memory of one connection for heads and answers under way, in MiB; new requests on it are refused beyond.',
        }),
      },
      { default: {}, additionalProperties: false, description: 'Limits of HTTP/2 connections.' },
    ),
  },
  {
    additionalProperties: false,
    description:
      'Requests are served over TLS, as HTTP/2 or HTTP/1.1. The files are read again when they change. Absent: plain HTTP/1.1.',
  },
);

/** How the router asks engines whose ModelServer says https. */
export const engineTlsSchema = Type.Object(
  {
    caFile: Type.Optional(file("PEM file of the authorities that sign engines' certificates. Absent: those of Node.")),
    certFile: Type.Optional(file('PEM file with the certificate that the router shows to engines. Absent: it shows none.')),
    keyFile: Type.Optional(file('PEM file with the private key of `certFile`.')),
    serverName: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Name that engines' certificates must be for. Absent: the address of the pod, which few certificates have.",
      }),
    ),
    insecureSkipVerify: Type.Boolean({ default: false, description: 'Accept any certificate of an engine.' }),
  },
  {
    default: {},
    additionalProperties: false,
    description:
      'TLS to the engines whose ModelServer says `workloadPort.protocol: https`. The files are read again when they change.',
  },
);

export type TlsConfig = Static<typeof tlsSchema>;
export type EngineTlsConfig = Static<typeof engineTlsSchema>;

/** What the schema cannot say. */
export function tlsFindings({ certFile, keyFile }: EngineTlsConfig): readonly Finding[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const missing = certFile === undefined ? 'certFile' : 'keyFile';
  return [
    {
      code: 'config/invalid-value',
      severity: 'error',
      field: `engineTls.${missing}`,
      message: 'is missing: a certificate is shown with its private key only',
      remedy: 'give both certFile and keyFile, or neither',
    },
  ];
}
