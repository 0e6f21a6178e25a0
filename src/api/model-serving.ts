import { conditionSchema } from './condition';
import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import type { PodSpec } from './pod';
import {
  anyJson,
  type Decoded,
  defaulted,
  int32,
  int64,
  integer,
  intOrString,
  listOf,
  mapOf,
  object,
  oneOf,
  opaque,
  optional,
  text,
} from './schema';

export const podTemplateSchema = object(
  {
    metadata: optional(
      object(
        {
          labels: optional(mapOf(text('Label value.'), { description: 'Labels of the pod.' })),
          annotations: optional(mapOf(text('Annotation value.'), { description: 'Annotations of the pod.' })),
        },
        { description: 'Metadata of the pod.' },
      ),
    ),
    spec: optional(opaque<PodSpec>("Kubernetes' pod specification.")),
  },
  { description: 'A pod to make.' },
);

export const servingRoleSchema = object(
  {
    name: text('Name of the role, unique in the group.', { maxLength: 12, pattern: '^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$' }),
    replicas: defaulted(int32('Instances of the role in each serving group.'), 1),
    entryTemplate: podTemplateSchema,
    workerReplicas: int32('Worker pods of each instance.'),
    workerTemplate: optional(podTemplateSchema),
    maxUnavailable: defaulted(intOrString('Instances that an update of roles may take away at once.'), 1),
    partition: optional(intOrString('Instances below this ordinal keep their revision.')),
  },
  { description: 'Pods of one kind in a serving group, such as prefill.' },
);

const networkTopologySchema = (description: string) =>
  object(
    {
      mode: defaulted(oneOf(['hard', 'soft'], 'Whether the tier must or should be kept.'), 'hard'),
      highestTierAllowed: optional(integer('Highest network tier that the pods may span.', { minimum: 0 })),
      highestTierName: optional(text('Its name.', { maxLength: 253 })),
    },
    { description },
  );

export const servingTemplateSchema = object(
  {
    restartGracePeriodSeconds: defaulted(int64('Seconds before a failed pod is deleted.'), 0),
    gangPolicy: optional(
      object(
        {
          minRoleReplicas: optional(
            mapOf(int32('Instances.'), {
              description: 'Role → instances that must be schedulable together.',
              'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'minRoleReplicas is immutable' }],
            }),
          ),
        },
        { description: 'What must be scheduled together.' },
      ),
    ),
    networkTopology: optional(
      object(
        {
          groupPolicy: optional(networkTopologySchema('Tier of a serving group.')),
          rolePolicy: optional(networkTopologySchema('Tier of a role instance.')),
        },
        { description: 'How near to each other pods are placed.' },
      ),
    ),
    roles: listOf(servingRoleSchema, {
      minItems: 1,
      maxItems: 4,
      description: 'Roles of the group.',
      'x-kubernetes-validations': [
        { rule: 'self.all(x, self.exists_one(y, y.name == x.name))', message: 'roles name must be unique' },
      ],
    }),
  },
  {
    description: 'A serving group.',
    'x-kubernetes-validations': [
      { rule: '!has(oldSelf.gangPolicy) || has(self.gangPolicy)', message: 'gangPolicy is required once set' },
    ],
  },
);

export const servingPluginSchema = object(
  {
    name: text('Registered name of the plugin.'),
    type: defaulted(oneOf(['BuiltIn'], 'Where the plugin comes from.'), 'BuiltIn'),
    config: optional(anyJson('Configuration of the plugin.')),
    scope: optional(
      object(
        {
          roles: optional(listOf(text('Role.'), { description: 'Roles that it changes. Absent or empty: all.' })),
          target: optional(text('`All`, `Entry` or `Worker`. Absent: all.')),
        },
        { description: 'Which pods it changes.' },
      ),
    ),
  },
  { description: 'One step of the chain that changes pods before they are made.' },
);

export const rolloutStrategySchema = object(
  {
    type: defaulted(
      oneOf(['ServingGroupRollingUpdate', 'RoleRollingUpdate'], 'Whether whole groups or single roles are replaced.'),
      'ServingGroupRollingUpdate',
    ),
    rollingUpdateConfiguration: optional(
      object(
        {
          maxUnavailable: defaulted(intOrString('Groups that an update may take away at once.'), 1),
          partition: optional(intOrString('Groups below this ordinal keep their revision.')),
        },
        { description: 'Limits of an update of groups.' },
      ),
    ),
  },
  { description: 'How an update is rolled out.' },
);

export const modelServingSpecSchema = object(
  {
    replicas: defaulted(int32('Serving groups.'), 1),
    schedulerName: defaulted(text('Scheduler of every pod.'), 'volcano'),
    plugins: optional(listOf(servingPluginSchema, { description: 'Steps that change pods, in order.' })),
    template: servingTemplateSchema,
    rolloutStrategy: optional(rolloutStrategySchema),
    recoveryPolicy: defaulted(
      oneOf(['ServingGroupRecreate', 'RoleRecreate', 'None'], 'What is made anew when a pod fails.'),
      'RoleRecreate',
    ),
  },
  { description: 'Serving groups and how they change.' },
);

export const modelServingStatusSchema = object(
  {
    observedGeneration: optional(int64('Generation that the status speaks of.')),
    replicas: optional(int32('Groups that exist.')),
    availableReplicas: optional(int32('Groups that are running.')),
    updatedReplicas: optional(int32('Groups of the new revision.')),
    currentReplicas: optional(int32('Groups of the old revision.')),
    updateRevision: optional(text('New revision.')),
    currentRevision: optional(text('Old revision.')),
    labelSelector: optional(text('Selects one pod per group, for `/scale`.')),
    conditions: optional(listOf(conditionSchema, { description: '`Available`, `Progressing`, `UpdateInProgress`.' })),
  },
  { description: 'What the controller sees.' },
);

export const modelServingSchema = objectSchema(
  modelServingSpecSchema,
  modelServingStatusSchema,
  "Serving groups of roles of pods. The kind and its controller are Kthena's.",
);

export type PodTemplate = Decoded<typeof podTemplateSchema>;
export type ServingRole = Decoded<typeof servingRoleSchema>;
export type ServingTemplate = Decoded<typeof servingTemplateSchema>;
export type ServingPlugin = Decoded<typeof servingPluginSchema>;
export type RolloutStrategy = Decoded<typeof rolloutStrategySchema>;
export type ModelServingSpec = Decoded<typeof modelServingSpecSchema>;
export type ModelServingStatus = Decoded<typeof modelServingStatusSchema>;
/** A decoded ModelServing. */
export type ModelServing = KubeKind<'ModelServing', typeof modelServingSpecSchema, typeof modelServingStatusSchema>;
/** A ModelServing as a person writes it. */
export type ModelServingManifest = KubeManifest<'ModelServing', typeof modelServingSpecSchema>;
