import { type Static, Type } from '@sinclair/typebox';

const tlsSchema = Type.Object(
  {
    caFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file of the authorities that may sign the certificate of the server. Absent: those of Node.',
      }),
    ),
    serverName: Type.Optional(
      Type.String({ minLength: 1, description: 'Name that the certificate must be for. Absent: the host of `address`.' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'The connection is encrypted, and the certificate of the server checked. Absent: neither.',
  },
);

/** Where an image finds Redis. Secrets are in files, never in the document. */
export const redisSchema = Type.Object(
  {
    address: Type.String({
      // An IPv6 address stands in brackets.
      pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/@\\[\\]]+):[0-9]{1,5}$',
      description: '`host:port` of the server.',
    }),
    username: Type.Optional(
      Type.String({ minLength: 1, description: "User of the server's access list. Absent: the default user." }),
    ),
    passwordFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'File whose content, without the line break at its end, is the password; read at each connection. Absent: none.',
      }),
    ),
    tls: Type.Optional(tlsSchema),
  },
  {
    additionalProperties: false,
    description: 'Redis that holds what routers share, such as counters of limits. Absent: each router counts for itself.',
  },
);

export type RedisConfig = Static<typeof redisSchema>;
