import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { type Decoded, defaulted, described, duration, int32, listOf, mapOf, object, oneOf, optional, text } from './schema';

const DNS_SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';

export const stringMatchSchema = object(
  {
    exact: optional(text('Equal to this.')),
    prefix: optional(text('Begins with this.')),
    regex: optional(text('Matched anywhere by this RE2 expression, unanchored.')),
  },
  { description: 'How a string is matched. Of several, `exact` counts before `prefix` before `regex`; none matches everything.' },
);

export const modelMatchSchema = object(
  {
    headers: optional(mapOf(stringMatchSchema, { description: 'Header name → match; all must hold.' })),
    uri: optional(described(stringMatchSchema, 'Match on the path of the URL.')),
    body: optional(
      object(
        { model: optional(text('Equal to `model` in the request body.')) },
        { description: 'Match on the JSON body of the request.' },
      ),
    ),
  },
  { description: 'Conditions of a rule; all must hold. Absent: every request.' },
);

export const targetModelSchema = object(
  {
    modelServerName: optional(text('ModelServer in the same namespace.')),
    externalModelProviderName: optional(text('ExternalModelProvider in the same namespace.')),
    weight: defaulted(
      int32('Share of the traffic, relative to the other targets of the rule.', { minimum: 0, maximum: 100 }),
      100,
    ),
  },
  {
    description: 'Where a rule sends requests: a ModelServer or an ExternalModelProvider.',
    'x-kubernetes-validations': [
      {
        rule: '(has(self.modelServerName) && self.modelServerName != "") != (has(self.externalModelProviderName) && self.externalModelProviderName != "")',
        message: 'exactly one of modelServerName or externalModelProviderName must be set',
      },
    ],
  },
);

export const shadowSchema = object(
  {
    modelServerName: text('ModelServer in the same namespace that gets the copies.', { minLength: 1, maxLength: 253 }),
    percent: defaulted(
      int32('Share of the requests of the rule that is copied; 0 copies none.', { minimum: 0, maximum: 100 }),
      100,
    ),
  },
  {
    description:
      'A ModelServer that gets copies of requests, whose answers nobody sees. Copies count against no limit. An extension of Kvasir.',
  },
);

export const ruleSchema = object(
  {
    name: optional(text('For people and logs.')),
    modelMatch: optional(modelMatchSchema),
    targetModels: listOf(targetModelSchema, {
      minItems: 1,
      maxItems: 16,
      description: 'Where matching requests go, drawn by weight.',
    }),
    shadow: optional(shadowSchema),
  },
  { description: 'One rule of a route. The first rule that matches decides.' },
);

export const rateLimitSchema = object(
  {
    inputTokensPerUnit: optional(int32('Prompt tokens allowed per unit of time. Absent: no limit.', { minimum: 1 })),
    outputTokensPerUnit: optional(int32('Generated tokens allowed per unit of time. Absent: no limit.', { minimum: 1 })),
    requestsPerUnit: optional(
      int32('Requests allowed per unit of time. Absent: no limit. An extension of Kvasir.', { minimum: 1 }),
    ),
    unit: defaulted(oneOf(['second', 'minute', 'hour', 'day', 'month'], 'Unit of time of the limits.'), 'second'),
    global: optional(
      object(
        {
          redis: optional(
            object(
              { address: text('`host:port` of the Redis server.') },
              { description: 'Redis that holds the shared counters.' },
            ),
          ),
        },
        { description: 'Limits shared by all routers. Absent: each router counts for itself.' },
      ),
    ),
  },
  { description: 'Limits of the route.' },
);

/** Characters of an HTTP token (RFC 9110 §5.6.2): names of headers, and of cookies by RFC 6265 §4.1.1. */
export const HTTP_TOKEN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

export const sessionAffinitySchema = object(
  {
    source: oneOf(
      ['header', 'cookie', 'query', 'claim'],
      'Where a request names its session: a header, a cookie, a parameter of the URL, or a claim of the verified token.',
    ),
    name: text('Name of the header, cookie, parameter or claim.', { minLength: 1, maxLength: 256 }),
    ttl: defaulted(duration('How long after its last request a session is remembered.', { maxLength: 32 }), '1h'),
  },
  {
    description:
      'Requests of one session go to the pod that served the last one, while it can. Requests that name none go anywhere. An extension of Kvasir.',
    'x-kubernetes-validations': [
      {
        rule: `self.source in ['query', 'claim'] || self.name.matches(r"${HTTP_TOKEN}")`,
        message: 'name must be the name of a header or cookie',
      },
      { rule: 'duration(self.ttl) > duration("0s")', message: 'ttl must be above 0' },
    ],
  },
);

export const tenantIsolationSchema = object(
  {
    salt: oneOf(
      ['tenant', 'user'],
      'Whose caches are kept apart: those of tenants, or those of users, by the verified credentials of a request.',
    ),
  },
  {
    description:
      'No request finds in a KV cache what another tenant put there. Requests without a tenant are kept apart by user, and requests of nobody in particular share. An extension of Kvasir.',
  },
);

export const parentReferenceSchema = object(
  {
    group: defaulted(
      text('Group of the parent.', { maxLength: 253, pattern: `^$|^${DNS_SUBDOMAIN}$` }),
      'gateway.networking.k8s.io',
    ),
    kind: defaulted(
      text('Kind of the parent.', { minLength: 1, maxLength: 63, pattern: '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$' }),
      'Gateway',
    ),
    name: text('Name of the parent.', { minLength: 1, maxLength: 253 }),
    namespace: optional(
      text('Namespace of the parent. Absent: that of the route.', {
        minLength: 1,
        maxLength: 63,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      }),
    ),
    sectionName: optional(text('Listener of the parent.', { minLength: 1, maxLength: 253, pattern: `^${DNS_SUBDOMAIN}$` })),
    port: optional(int32('Port of the parent.', { minimum: 1, maximum: 65535 })),
  },
  { description: 'A Gateway that the route is attached to.' },
);

export const modelRouteSpecSchema = object(
  {
    modelName: optional(
      text('Value of `model` in requests that this route serves; case-sensitive, may be a name that no engine knows.', {
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'modelName is immutable' }],
      }),
    ),
    loraAdapters: optional(
      listOf(text('Adapter name.'), { maxItems: 10, description: 'Values of `model` that name LoRA adapters of this route.' }),
    ),
    parentRefs: optional(listOf(parentReferenceSchema, { description: 'Gateways that the route is attached to. Absent: all.' })),
    rules: listOf(ruleSchema, { maxItems: 16, description: 'Rules in order; the first that matches decides.' }),
    rateLimit: optional(rateLimitSchema),
    sessionAffinity: optional(sessionAffinitySchema),
    tenantIsolation: optional(tenantIsolationSchema),
  },
  {
    description: 'Which requests the route serves, and where they go.',
    'x-kubernetes-validations': [
      {
        rule: 'self.modelName != "" || size(self.loraAdapters) > 0',
        message: 'ModelName and LoraAdapters cannot both be empty',
      },
    ],
  },
);

export const modelRouteStatusSchema = object({}, { description: 'Nothing is reported for routes.' });

export const modelRouteSchema = objectSchema(
  modelRouteSpecSchema,
  modelRouteStatusSchema,
  'Sends requests for a model name to ModelServers and ExternalModelProviders.',
);

export type StringMatch = Decoded<typeof stringMatchSchema>;
export type ModelMatch = Decoded<typeof modelMatchSchema>;
export type TargetModel = Decoded<typeof targetModelSchema>;
export type Shadow = Decoded<typeof shadowSchema>;
export type Rule = Decoded<typeof ruleSchema>;
export type RateLimit = Decoded<typeof rateLimitSchema>;
export type SessionAffinity = Decoded<typeof sessionAffinitySchema>;
export type TenantIsolation = Decoded<typeof tenantIsolationSchema>;
export type ParentReference = Decoded<typeof parentReferenceSchema>;
export type ModelRouteSpec = Decoded<typeof modelRouteSpecSchema>;
/** A decoded ModelRoute. */
export type ModelRoute = KubeKind<'ModelRoute', typeof modelRouteSpecSchema, typeof modelRouteStatusSchema>;
/** A ModelRoute as a person writes it. */
export type ModelRouteManifest = KubeManifest<'ModelRoute', typeof modelRouteSpecSchema>;
