import { type Static, type TSchema, Type } from '@sinclair/typebox';
import type { Finding } from '../errors';
import { Labels } from '../labels';

/** Signature algorithms of tokens. All are asymmetric: a public key can never be used as a shared secret. */
export const TOKEN_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const;

const closed = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { default: {}, additionalProperties: false, description });

const claim = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const claimsSchema = closed('What is read from verified tokens. A claim is named as it stands in the token.', {
  user: Type.String({ minLength: 1, default: 'sub', description: 'Whose usage it is. A token without it is refused.' }),
  tenant: claim('Who shares caches and limits. Absent: nobody but the user.'),
  models: claim(
    'Models that may be asked for: a list of names, or names separated by spaces; `*` is every model. A token without the claim may use none. Absent: every model.',
  ),
  priorityClass: claim('Class in which requests wait. Absent: the class of everybody.'),
});

const jwksSchema = closed('How the keys of the issuer are fetched.', {
  refreshMs: Type.Integer({
    minimum: 1_000,
    maximum: 86_400_000,
    default: 600_000,
    description: 'From one fetch to the next. Milliseconds.',
  }),
  minRefreshMs: Type.Integer({
    minimum: 1_000,
    maximum: 3_600_000,
    default: 30_000,
    description: 'Least time between fetches that tokens with an unknown `kid` cause. Milliseconds.',
  }),
  timeoutMs: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 5_000,
    description: 'Longest fetch; so long may a request wait for the first keys. Milliseconds.',
  }),
  caFile: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'PEM file of the authorities that may sign the certificate of `jwksUri`; read anew at each fetch. Absent: those of Node.',
    }),
  ),
});

const apiKeysSchema = Type.Object(
  {
    secretLabel: Type.String({
      minLength: 1,
      default: Labels.apiKeys,
      description: 'Label with the value `true` on Secrets whose entries are keys.',
    }),
    secrets: Type.Array(Type.String({ pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' }), {
      default: [],
      description: 'Secrets that count, each as namespace/name. Empty: every Secret with the label that the router may read.',
    }),
    header: Type.String({
      pattern: '^[a-z0-9-]+$',
      default: 'x-api-key',
      description:
        'Lower-case name of the header that carries a key, besides `Authorization: Bearer`. It never reaches an engine.',
    }),
  },
  { additionalProperties: false, description: 'Keys from Secrets. Absent: none.' },
);

/** Who may ask: Kthena's `issuer`, `audiences` and `jwksUri` as they are, and what Kvasir adds. */
export const authSchema = Type.Object(
  {
    issuer: Type.Optional(Type.String({ description: '`iss` of the tokens, exactly.' })),
    audiences: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'A token must be for one of these. Empty: for anybody.' }),
    ),
    jwksUri: Type.Optional(Type.String({ description: 'Where the keys of the issuer are. Empty: no tokens are taken.' })),
    required: Type.Boolean({
      default: true,
      description: 'Whether requests without credentials are refused. Wrong credentials always are.',
    }),
    algorithms: Type.Array(Type.Union(TOKEN_ALGORITHMS.map((name) => Type.Literal(name))), {
      minItems: 1,
      default: [...TOKEN_ALGORITHMS],
      description: 'Signature algorithms that tokens may have.',
    }),
    clockSkewMs: Type.Integer({
      minimum: 0,
      maximum: 600_000,
      default: 60_000,
      description: 'By how much the clocks of issuer and router may differ, for `exp`, `nbf` and `iat`. Milliseconds.',
    }),
    claims: claimsSchema,
    jwks: jwksSchema,
    apiKeys: Type.Optional(apiKeysSchema),
  },
  {
    additionalProperties: false,
    description: 'Who may ask. With neither `jwksUri` nor `apiKeys`, everybody.',
  },
);

export type AuthConfig = Static<typeof authSchema>;
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** What of `auth` cannot be meant as written. An error stops the router: letting everybody in would be worse. */
export function authFindings(auth: AuthConfig | undefined): readonly Finding[] {
  if (auth === undefined) return [];
  const { issuer = '', audiences = [], jwksUri = '' } = auth;
  if (jwksUri === '') {
    const field = issuer !== '' ? 'issuer' : audiences.length > 0 ? 'audiences' : undefined;
    return field === undefined ? [] : [incomplete(field, 'asks for tokens, and jwksUri does not say whose keys sign them')];
  }
  const url = URL.canParse(jwksUri) ? new URL(jwksUri) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    const message = `${JSON.stringify(jwksUri)} is no URL of https`;
    const remedy = 'write one like https://id.example.com/jwks.json';
    return [{ code: 'config/invalid-value', severity: 'error', field: 'auth.jwksUri', message, remedy }];
  }
  const findings: Finding[] = [];
  if (issuer === '') findings.push(incomplete('jwksUri', 'has keys, and issuer does not say whose tokens are taken'));
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
    const message = `${JSON.stringify(jwksUri)} is fetched without TLS, so that who can change the answer can sign tokens`;
    findings.push({ code: 'config/auth-plain-http', severity: 'warning', field: 'auth.jwksUri', message, remedy: 'use https' });
  }
  return findings;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

function incomplete(field: string, message: string): Finding {
  const remedy = 'give issuer and jwksUri together, or neither of them';
  return { code: 'config/auth-incomplete', severity: 'error', field: `auth.${field}`, message, remedy };
}
