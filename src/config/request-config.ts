import { type ArrayOptions, type SchemaOptions, type Static, type TSchema, Type } from '@sinclair/typebox';

const closed = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { default: {}, additionalProperties: false, description });

/** Members of a body that run as templates or steer loaders in the engine: they pass only where the configuration names them. */
export const GUARDED_MEMBERS = ['chat_template', 'media_io_kwargs', 'mm_processor_kwargs'] as const;

const allowedMembers = (more: ArrayOptions = {}) =>
  Type.Array(Type.Union(GUARDED_MEMBERS.map((name) => Type.Literal(name))), {
    description: 'Guarded members that pass to the engine; the others are taken out of the body.',
    ...more,
  });

const media = (more: SchemaOptions = {}) =>
  Type.Union([Type.Literal('anywhere'), Type.Literal('allowedHosts'), Type.Literal('dataUrlsOnly')], {
    description:
      'What images, videos, audio and files in a prompt may be: URLs that the engine fetches from any host, from `mediaHosts` only, or data URLs only.',
    ...more,
  });

const mediaHosts = (more: ArrayOptions = {}) =>
  Type.Array(Type.String({ pattern: '^(\\*\\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$' }), {
    description:
      'Hosts for `allowedHosts`, by name; `*.example.com` is every name below it. The engine follows redirects by itself.',
    ...more,
  });

const modelPolicy = Type.Object(
  {
    allowMembers: Type.Optional(allowedMembers()),
    media: Type.Optional(media()),
    mediaHosts: Type.Optional(mediaHosts()),
  },
  { additionalProperties: false, description: 'What differs for one model; absent fields are as for all others.' },
);

/** What requests may ask of engines. */
export const requestsSchema = closed('What requests may ask of engines.', {
  allowMembers: allowedMembers({ default: [] }),
  media: media({ default: 'anywhere' }),
  mediaHosts: mediaHosts({ default: [] }),
  models: Type.Record(Type.String({ minLength: 1 }), modelPolicy, {
    default: {},
    description: 'Exceptions, by the model name that clients use.',
  }),
});

/** Where responses with state are kept apart. */
export const responsesSchema = closed('Responses that are asked for again by their id.', {
  maxEntries: Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    default: 100_000,
    description: 'Responses whose pod is remembered; the least recently used goes first.',
  }),
  ttlMs: Type.Integer({
    minimum: 1,
    maximum: 2_592_000_000,
    default: 3_600_000,
    description: 'How long after its last use a response is remembered. Milliseconds.',
  }),
});

/** Sessions of routes with `sessionAffinity`. */
export const sessionsSchema = closed('Sticky sessions, of ModelRoutes with `sessionAffinity`.', {
  maxEntries: Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    default: 100_000,
    description: 'Sessions whose pod is remembered; the least recently used goes first.',
  }),
});

/** Which web pages may call the router. */
export const corsSchema = Type.Object(
  {
    origins: Type.Array(Type.String({ pattern: '^(\\*|https?://[^/\\s]+)$' }), {
      minItems: 1,
      description: 'Origins such as `https://chat.example.com`; `*` is every one.',
    }),
    maxAgeSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      default: 600,
      description: 'How long browsers may remember a preflight.',
    }),
  },
  {
    additionalProperties: false,
    description: 'Answers to browsers of other origins. Absent: none, and browsers refuse. Never with cookies.',
  },
);

export const trustedProxiesSchema = Type.Array(Type.String({ pattern: '^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$' }), {
  default: [],
  description:
    'Addresses or CIDR ranges of proxies whose `X-Forwarded-*` and `Forwarded` headers pass on to engines; those of others are dropped.',
});

export type RequestsConfig = Static<typeof requestsSchema>;
export type CorsConfig = Static<typeof corsSchema>;
