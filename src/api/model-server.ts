import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { type Decoded, defaulted, duration, int32, mapOf, object, oneOf, optional, text } from './schema';

const labelsSchema = (description: string) => mapOf(text('Label value.'), { description });

export const pdGroupSchema = object(
  {
    groupKey: text('Label key; prefill and decode pods with the same value of it may be paired.'),
    prefillLabels: labelsSchema('Labels of prefill pods, in addition to `matchLabels`.'),
    decodeLabels: labelsSchema('Labels of decode pods, in addition to `matchLabels`.'),
  },
  { description: 'How prefill and decode pods are told apart and paired.' },
);

export const workloadSelectorSchema = object(
  {
    matchLabels: optional(labelsSchema('Labels of the pods; all must be there.')),
    pdGroup: optional(pdGroupSchema),
  },
  { description: 'Which pods of the namespace serve this model.' },
);

export const workloadPortSchema = object(
  {
    port: int32('Port of the engine, for requests and for metrics.', { minimum: 1, maximum: 65535 }),
    protocol: defaulted(oneOf(['http', 'https'], 'Protocol of the engine.'), 'http'),
  },
  { description: 'Where the engine listens.' },
);

export const retrySchema = object(
  {
    attempts: optional(int32('How often a request may be tried again.')),
    retryInterval: defaulted(duration('Pause between attempts.'), '100ms'),
  },
  { description: 'Retry of requests that failed before the first byte of an answer.' },
);

export const trafficPolicySchema = object(
  {
    timeout: optional(duration('Longest time until the response headers. Absent: no limit.')),
    retry: optional(retrySchema),
  },
  { description: 'Deadlines and retry.' },
);

export const kvConnectorSchema = object(
  {
    type: defaulted(oneOf(['http', 'lmcache', 'nixl', 'mooncake'], 'How KV cache travels from prefill to decode.'), 'http'),
  },
  { description: 'KV transfer between prefill and decode.' },
);

export const modelServerSpecSchema = object(
  {
    model: optional(
      text('Model name that the engine serves; requests are rewritten to it. Absent: the request keeps its own.', {
        maxLength: 256,
      }),
    ),
    inferenceEngine: oneOf(['vLLM', 'SGLang'], 'Engine of the pods.'),
    workloadSelector: workloadSelectorSchema,
    workloadPort: workloadPortSchema,
    trafficPolicy: optional(trafficPolicySchema),
    kvConnector: optional(kvConnectorSchema),
  },
  { description: 'Which pods serve the model, and how they are reached.' },
);

export const modelServerStatusSchema = object({}, { description: 'Nothing is reported for model servers.' });

export const modelServerSchema = objectSchema(
  modelServerSpecSchema,
  modelServerStatusSchema,
  'Pods that serve one model with one engine.',
);

export type WorkloadSelector = Decoded<typeof workloadSelectorSchema>;
export type PdGroup = Decoded<typeof pdGroupSchema>;
export type WorkloadPort = Decoded<typeof workloadPortSchema>;
export type Retry = Decoded<typeof retrySchema>;
export type TrafficPolicy = Decoded<typeof trafficPolicySchema>;
export type KvConnector = Decoded<typeof kvConnectorSchema>;
export type InferenceEngine = ModelServerSpec['inferenceEngine'];
export type ModelServerSpec = Decoded<typeof modelServerSpecSchema>;
/** A decoded ModelServer. */
export type ModelServer = KubeKind<'ModelServer', typeof modelServerSpecSchema, typeof modelServerStatusSchema>;
/** A ModelServer as a person writes it. */
export type ModelServerManifest = KubeManifest<'ModelServer', typeof modelServerSpecSchema>;
