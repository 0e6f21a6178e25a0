import { conditionSchema } from './condition';
import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { modelMatchSchema } from './model-route';
import type { EnvVar } from './pod';
import {
  anyJson,
  type Decoded,
  defaulted,
  int32,
  int64,
  listOf,
  mapOf,
  object,
  oneOf,
  opaque,
  optional,
  quantity,
  text,
} from './schema';

const NAME = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
const MAX_REPLICAS = 1_000_000;

export const boosterResourcesSchema = object(
  {
    limits: optional(mapOf(quantity('Amount.'), { description: 'Most that the container may use.' })),
    requests: optional(mapOf(quantity('Amount.'), { description: 'What the container is guaranteed.' })),
    claims: optional(
      listOf(object({ name: text('Name of the claim.'), request: optional(text('Request of the claim.')) }), {
        description: 'Claims of dynamic resource allocation.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
  },
  { description: 'Resources of the engine container.' },
);

export const boosterWorkerSchema = object(
  {
    type: defaulted(oneOf(['server', 'prefill', 'decode', 'controller', 'coordinator'], 'What the worker does.'), 'server'),
    image: optional(text('Image of the engine.')),
    replicas: optional(
      int32('Instances of the role inside each serving group. Absent: 0.', { minimum: 0, maximum: MAX_REPLICAS }),
    ),
    pods: optional(
      int32('Pods per instance; more than 1 is one entry pod and Ray workers.', { minimum: 0, maximum: MAX_REPLICAS }),
    ),
    resources: optional(boosterResourcesSchema),
    affinity: optional(opaque<object>('Affinity of the pods.')),
    tolerations: optional(
      listOf(opaque<object>('A toleration.'), { description: 'Tolerations of the pods.', 'x-kubernetes-list-type': 'atomic' }),
    ),
    config: optional(anyJson('Engine flags: name → value.')),
  },
  { description: 'One role of the backend.' },
);

export const boosterBackendSchema = object(
  {
    name: text('End of the names of what is made.', { pattern: NAME }),
    type: oneOf(['vLLM', 'vLLMDisaggregated'], 'Engine, and whether prefill and decode are apart.'),
    modelURI: text('Where the model is.', { pattern: '^(hf://|s3://|obs://|pvc://|ms://).+' }),
    cacheURI: optional(text('Where the model is put.', { pattern: '^(hostpath://|pvc://).+' })),
    env: optional(
      listOf(opaque<EnvVar>('A variable.'), {
        description: 'Environment of the containers.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
    envFrom: optional(
      listOf(opaque<object>('A source.'), { description: 'Sources of the environment.', 'x-kubernetes-list-type': 'atomic' }),
    ),
    replicas: int32('Serving groups.', { minimum: 0, maximum: MAX_REPLICAS }),
    workers: listOf(boosterWorkerSchema, { minItems: 1, maxItems: 1000, description: 'Roles of the backend.' }),
    schedulerName: optional(text("Scheduler of the pods. Absent: ModelServing's.")),
    runtimeClassName: optional(text('Runtime class of the pods.')),
  },
  { description: 'What serves the model.' },
);

export const modelBoosterSpecSchema = object(
  {
    name: optional(text('Model name for clients. Absent: the name of the object.', { maxLength: 64, pattern: NAME })),
    owner: optional(text('For people.')),
    modelMatch: optional(modelMatchSchema),
    backend: boosterBackendSchema,
  },
  { description: 'A model and what serves it.' },
);

export const modelBoosterStatusSchema = object(
  {
    observedGeneration: optional(int64('Generation that the status speaks of.')),
    conditions: optional(
      listOf(conditionSchema, {
        description: '`Initialized`, `Active`, `Failed`.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
  },
  { description: 'How far the model is.' },
);

export const modelBoosterSchema = objectSchema(
  modelBoosterSpecSchema,
  modelBoosterStatusSchema,
  'A model in one object, from which a ModelServing, a ModelServer and a ModelRoute are made.',
);

export type BoosterResources = Decoded<typeof boosterResourcesSchema>;
export type BoosterWorker = Decoded<typeof boosterWorkerSchema>;
export type BoosterBackend = Decoded<typeof boosterBackendSchema>;
export type ModelBoosterSpec = Decoded<typeof modelBoosterSpecSchema>;
export type ModelBoosterStatus = Decoded<typeof modelBoosterStatusSchema>;
/** A decoded ModelBooster. */
export type ModelBooster = KubeKind<'ModelBooster', typeof modelBoosterSpecSchema, typeof modelBoosterStatusSchema>;
/** A ModelBooster as a person writes it. */
export type ModelBoosterManifest = KubeManifest<'ModelBooster', typeof modelBoosterSpecSchema>;
