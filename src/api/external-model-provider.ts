import { conditionSchema } from './condition';
import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { type Decoded, defaulted, flag, int64, listOf, mapOf, object, oneOf, optional, text } from './schema';

export const secretKeySelectorSchema = object(
  {
    name: defaulted(text('Name of the Secret.'), ''),
    key: text('Key in the Secret.'),
    optional: optional(flag('Must be false or absent: a credential is never optional.')),
  },
  { description: 'Where the credential is, in the same namespace.', 'x-kubernetes-map-type': 'atomic' },
);

export const providerAuthSchema = object(
  {
    scheme: optional(oneOf(['Bearer', 'APIKey'], "How the credential is sent. Absent: the provider's own way.")),
    secretRef: secretKeySelectorSchema,
  },
  {
    description: 'Credential sent to the provider.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.secretRef.optional) || !self.secretRef.optional',
        message: 'secretRef.optional must be false or unset',
      },
    ],
  },
);

export const externalModelProviderSpecSchema = object(
  {
    providerType: defaulted(oneOf(['OpenAI', 'Anthropic'], 'Protocol that the provider speaks.'), 'OpenAI'),
    model: optional(
      text('Model name at the provider; requests are rewritten to it. Absent: the request keeps its own.', { maxLength: 256 }),
    ),
    baseURL: text('Root of the provider, https only.', { minLength: 1, pattern: '^https://.+' }),
    insecureSkipVerify: defaulted(flag('Accept any certificate.'), false),
    auth: optional(providerAuthSchema),
    headers: optional(
      mapOf(text('Header value.'), { description: 'Static headers of every request to the provider; no credentials.' }),
    ),
  },
  { description: 'How the provider is reached.' },
);

export const externalModelProviderStatusSchema = object(
  {
    observedGeneration: optional(int64('Generation that the status speaks of.')),
    conditions: optional(listOf(conditionSchema, { description: '`Ready` and `CredentialsResolved`.' })),
  },
  { description: 'What was found about the provider.' },
);

export const externalModelProviderSchema = objectSchema(
  externalModelProviderSpecSchema,
  externalModelProviderStatusSchema,
  'A model served by somebody else, over its public protocol.',
);

export type SecretKeySelector = Decoded<typeof secretKeySelectorSchema>;
export type ProviderAuth = Decoded<typeof providerAuthSchema>;
export type ExternalModelProviderSpec = Decoded<typeof externalModelProviderSpecSchema>;
export type ExternalModelProviderStatus = Decoded<typeof externalModelProviderStatusSchema>;
/** A decoded ExternalModelProvider. */
export type ExternalModelProvider = KubeKind<
  'ExternalModelProvider',
  typeof externalModelProviderSpecSchema,
  typeof externalModelProviderStatusSchema
>;
/** An ExternalModelProvider as a person writes it. */
export type ExternalModelProviderManifest = KubeManifest<'ExternalModelProvider', typeof externalModelProviderSpecSchema>;
