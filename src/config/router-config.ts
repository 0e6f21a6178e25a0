import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Finding } from '../errors';
import { authFindings, authSchema } from './auth-config';
import { disaggregationSchema } from './disaggregation-config';
import { guardrailSchema } from './guardrail-config';
import { parseDocument } from './parse-document';
import { providersSchema } from './providers-config';
import { queueConfigSchema, queueFindings } from './queue-config';
import { rateLimitConfigSchema } from './rate-limit-config';
import { redisSchema } from './redis-config';
import { replicationFindings, replicationSchema } from './replication-config';
import { corsSchema, requestsSchema, responsesSchema, sessionsSchema, trustedProxiesSchema } from './request-config';
import { engineTlsSchema, tlsFindings, tlsSchema } from './tls-config';
import { tracingSchema } from './tracing-config';

const object = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { default: {}, additionalProperties: false, description });

const milliseconds = (value: number, description: string) =>
  Type.Number({ minimum: 0, maximum: 86_400_000, default: value, description: `${description} Milliseconds; 0: no limit.` });

const pluginNames = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

const plugin = Type.Object({
  name: Type.String({ minLength: 1, description: 'Name of the plugin.' }),
  args: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'What it takes, by its own names.' })),
});

const scorePlugin = Type.Object({
  name: Type.String({ minLength: 1, description: 'Name of the plugin.' }),
  weight: Type.Optional(Type.Number({ description: 'Factor of its score in the sum. Absent or 0: it never counts.' })),
});

const filterPlugins = Type.Object(
  {
    enabled: pluginNames('Filters in order.'),
    disabled: pluginNames('Filters that are off, even where they are enabled; `*` is every one.'),
  },
  { description: 'Plugins that remove pods from the choice.' },
);

const scorePlugins = Type.Object(
  {
    enabled: Type.Optional(Type.Array(scorePlugin, { description: 'Scorers and their weights.' })),
    disabled: Type.Optional(
      Type.Array(Type.Unknown(), {
        description: 'Scorers that are off, even where they are enabled, by name or as `{name}`; `*` is every one.',
      }),
    ),
  },
  { description: 'Plugins that rate the pods that are left.' },
);

const schedulerSchema = Type.Object(
  {
    pluginConfig: Type.Optional(Type.Array(plugin, { description: 'Arguments of plugins.' })),
    plugins: Type.Optional(
      Type.Object(
        { Filter: Type.Optional(filterPlugins), Score: Type.Optional(scorePlugins) },
        { description: 'Which plugins decide, when there is no `profile`.' },
      ),
    ),
  },
  { description: "Kthena's scheduler configuration." },
);

/**
 * The router's configuration document: Kthena's `routerConfiguration` (`scheduler`, `auth`) as it is, and what Kvasir adds to it.
 * Every field has a default, so that an empty document is a valid one.
 */
export const routerConfigSchema = object('Configuration of the router image.', {
  scheduler: Type.Optional(schedulerSchema),
  auth: Type.Optional(authSchema),
  profile: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Scheduling profile. Absent: the plugins under `scheduler.plugins` when there are any, else `expected-latency`.',
    }),
  ),
  profiles: Type.Record(Type.String({ minLength: 1 }), schedulerSchema, {
    default: {},
    description: 'Scheduling profiles by name, for `profile` and `routeProfiles`.',
  }),
  routeProfiles: Type.Record(Type.String({ minLength: 1 }), Type.String({ minLength: 1 }), {
    default: {},
    description:
      'Scheduling profile of single ModelRoutes, by their namespace and name with a slash between. Absent: that of all.',
  }),
  explain: object('What is told of decisions.', {
    header: Type.Boolean({
      default: false,
      description: 'Answer `x-kvasir-explain: 1` with the decision, in `x-kvasir-decision`.',
    }),
    ringSize: Type.Integer({ minimum: 0, maximum: 100_000, default: 256, description: 'Decisions kept for the debug port.' }),
  }),
  limits: object('What one router takes at a time.', {
    bodyBytes: Type.Integer({
      minimum: 1,
      maximum: 2 ** 31,
      default: 64 * 2 ** 20,
      description: 'Largest request body; 413 beyond.',
    }),
    bodyBudgetBytes: Type.Integer({
      minimum: 1,
      default: 512 * 2 ** 20,
      description: 'Bytes of all request bodies held at one time; 503 beyond.',
    }),
    jsonDepth: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 128,
      description: 'Deepest nesting of a request body; 400 beyond.',
    }),
    requestsInFlight: Type.Integer({ minimum: 1, default: 20_000, description: 'Requests served at one time; 503 beyond.' }),
    shadowRequestsInFlight: Type.Integer({
      minimum: 0,
      default: 100,
      description: 'Copies for shadows under way at one time; beyond, requests are not copied.',
    }),
  }),
  deadlines: object('How long the parts of a request may take.', {
    requestHeadMs: milliseconds(10_000, 'From the first byte of a request, or its connection, to the end of its head.'),
    requestBodyMs: milliseconds(60_000, 'From the head of a request to the end of its body.'),
    connectMs: milliseconds(3_000, 'Until the connection to an endpoint stands.'),
    firstByteMs: milliseconds(
      600_000,
      'From sending to the head of the answer, where the ModelServer has no `trafficPolicy.timeout`.',
    ),
    idleMs: milliseconds(60_000, 'Longest silence inside an answer; also how long a client may refuse to read.'),
    streamIdleFloorMs: milliseconds(
      15_000,
      'A stream that went on at a steady pace is given up after 50 times its usual gap, and not before this.',
    ),
    totalMs: milliseconds(3_600_000, 'From the head of a request to the end of its answer.'),
  }),
  retry: object('When a request is tried again.', {
    attempts: Type.Integer({
      minimum: 0,
      maximum: 10,
      default: 2,
      description: 'Further attempts where the ModelServer has no `trafficPolicy.retry`.',
    }),
    intervalMs: milliseconds(100, 'Mean wait before a further attempt, where the ModelServer says nothing.'),
    statuses: Type.Array(Type.Integer({ minimum: 400, maximum: 599 }), {
      default: [408, 429, 500, 502, 503, 504],
      description: 'Statuses of an engine that are worth another endpoint.',
    }),
    budgetRatio: Type.Number({ minimum: 0, maximum: 1, default: 0.2, description: 'Further attempts per request, on average.' }),
    quarantineMs: milliseconds(600_000, 'How long a body that cost two endpoints is refused.'),
  }),
  paths: Type.Array(Type.String({ pattern: '^/[A-Za-z0-9_./-]+$' }), {
    default: [],
    description: 'More paths that are proxied as POST with a JSON body and its `model`.',
  }),
  requests: requestsSchema,
  responses: responsesSchema,
  sessions: sessionsSchema,
  cors: Type.Optional(corsSchema),
  trustedProxies: trustedProxiesSchema,
  accessLog: object('The line about each request.', {
    enabled: Type.Boolean({ default: true, description: 'Whether there is one.' }),
    format: Type.Union([Type.Literal('text'), Type.Literal('json')], { default: 'text', description: 'How it is written.' }),
    output: Type.String({ minLength: 1, default: 'stdout', description: '`stdout`, `stderr`, or a file that is appended to.' }),
    sampleRatio: Type.Number({ minimum: 0, maximum: 1, default: 1, description: 'Share of successful requests that is logged.' }),
  }),
  decisionLog: object('The line about each decision where a request goes, one JSON object.', {
    output: Type.Optional(
      Type.String({ minLength: 1, description: '`stdout`, `stderr`, or a file that is appended to. Absent: no lines.' }),
    ),
    sampleRatio: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.01,
      description: 'Share of attempts whose decision is logged.',
    }),
  }),
  tracing: tracingSchema,
  drain: object('How the router ends after SIGTERM.', {
    announceMs: milliseconds(5_000, 'After SIGTERM, how long new connections are still taken while the endpoint is withdrawn.'),
    timeoutMs: milliseconds(300_000, 'After SIGTERM, when streams that still run are cut.'),
  }),
  usage: object('The record of what each request used, one JSON object a line.', {
    output: Type.Optional(
      Type.String({
        minLength: 1,
        description: '`stdout`, `stderr`, or a file that is appended to. Absent: no records.',
      }),
    ),
  }),
  queue: queueConfigSchema,
  rateLimit: rateLimitConfigSchema,
  redis: Type.Optional(redisSchema),
  replication: Type.Optional(replicationSchema),
  onFlightCounters: Type.Boolean({
    default: false,
    description: "Count requests in flight per pod in `redis` as Kthena's routers do, and let `least-request` count theirs.",
  }),
  disaggregation: disaggregationSchema,
  tls: Type.Optional(tlsSchema),
  engineTls: engineTlsSchema,
  providers: providersSchema,
  guardrail: Type.Optional(guardrailSchema),
});

export type RouterConfig = Static<typeof routerConfigSchema>;

/** How reading a configuration document ended. */
export type DecodedRouterConfig =
  | { readonly kind: 'valid'; readonly config: RouterConfig }
  | { readonly kind: 'invalid'; readonly findings: readonly Finding[] };

/** The configuration of an empty document. */
export function defaultRouterConfig(): RouterConfig {
  const value = Value.Default(routerConfigSchema, {});
  Value.Assert(routerConfigSchema, value);
  return value;
}

/** Applies defaults to a parsed document and checks it. @param file named in findings. */
export function decodeRouterConfig(document: unknown, file?: string): DecodedRouterConfig {
  const value = Value.Default(routerConfigSchema, Value.Clone(document ?? {}));
  if (Value.Check(routerConfigSchema, value)) {
    const errors = [
      ...authFindings(value.auth),
      ...queueFindings(value.queue),
      ...tlsFindings(value.engineTls),
      ...replicationFindings(value),
    ].filter(({ severity }) => severity === 'error');
    if (errors.length === 0) return { kind: 'valid', config: value };
    return { kind: 'invalid', findings: file === undefined ? errors : errors.map((each) => ({ ...each, file })) };
  }
  const seen = new Set<string>();
  const findings: Finding[] = [];
  for (const error of Value.Errors(routerConfigSchema, value)) {
    if (seen.has(error.path)) continue;
    seen.add(error.path);
    const unknown = error.message === 'Unexpected property';
    const siblings = Object.keys(schemaAt(error.path.split('/').slice(1, -1))?.properties ?? {});
    findings.push({
      code: unknown ? 'config/unknown-field' : 'config/invalid-value',
      severity: 'error',
      ...(file === undefined ? {} : { file }),
      field: error.path.slice(1).replaceAll('/', '.'),
      message: unknown ? 'is no field of the router configuration' : `${JSON.stringify(error.value)} is not allowed`,
      remedy: unknown ? (siblings.length > 0 ? `use one of ${siblings.join(', ')}` : 'remove it') : lowerFirst(error.message),
    });
  }
  return { kind: 'invalid', findings };
}

/** Reads a configuration document written as YAML or JSON. */
export function parseRouterConfig(text: string, file?: string): DecodedRouterConfig {
  return parseDocument(text, file, decodeRouterConfig);
}

function schemaAt(path: readonly string[]): TObject | undefined {
  let schema: TSchema | undefined = routerConfigSchema;
  for (const part of path) schema = (schema as TObject | undefined)?.properties?.[part];
  return schema as TObject | undefined;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
