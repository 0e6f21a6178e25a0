import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Finding } from '../errors';
import { parseDocument } from './parse-document';

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
  { enabled: pluginNames('Filters in order.'), disabled: pluginNames('Carried; a filter that is not enabled is off.') },
  { description: 'Plugins that remove pods from the choice.' },
);

const scorePlugins = Type.Object(
  {
    enabled: Type.Optional(Type.Array(scorePlugin, { description: 'Scorers and their weights.' })),
    disabled: Type.Optional(Type.Array(Type.Unknown(), { description: 'Carried; a scorer that is not enabled is off.' })),
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

const authSchema = Type.Object(
  {
    issuer: Type.Optional(Type.String({ description: 'Issuer of the tokens.' })),
    audiences: Type.Optional(Type.Array(Type.String(), { description: 'Audiences that tokens may be for.' })),
    jwksUri: Type.Optional(Type.String({ description: 'Where the keys of the issuer are.' })),
  },
  { description: 'Must be left empty: this version of the router checks no tokens, and does not start when asked to.' },
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
  }),
  deadlines: object('How long the parts of a request may take.', {
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
  accessLog: object('The line about each request.', {
    enabled: Type.Boolean({ default: true, description: 'Whether there is one.' }),
    format: Type.Union([Type.Literal('text'), Type.Literal('json')], { default: 'text', description: 'How it is written.' }),
    output: Type.String({ minLength: 1, default: 'stdout', description: '`stdout`, `stderr`, or a file that is appended to.' }),
    sampleRatio: Type.Number({ minimum: 0, maximum: 1, default: 1, description: 'Share of successful requests that is logged.' }),
  }),
  drain: object('How the router ends after SIGTERM.', {
    announceMs: milliseconds(5_000, 'After SIGTERM, how long new connections are still taken while the endpoint is withdrawn.'),
    timeoutMs: milliseconds(300_000, 'After SIGTERM, when streams that still run are cut.'),
  }),
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
  if (Value.Check(routerConfigSchema, value)) return { kind: 'valid', config: value };
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
