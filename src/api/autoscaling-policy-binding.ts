import { autoscalingPolicyStatusSchema } from './autoscaling-policy';
import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { disaggregatedTargetSchema, heterogeneousTargetSchema, homogeneousTargetSchema } from './scaling-target';
import { type Decoded, object, optional, text } from './schema';

export const policyRefSchema = object(
  { name: text('AutoscalingPolicy in the same namespace.', { minLength: 1 }) },
  { description: 'The policy whose metrics and behavior the binding applies.', 'x-kubernetes-map-type': 'atomic' },
);

export const autoscalingPolicyBindingSpecSchema = object(
  {
    policyRef: policyRefSchema,
    homogeneousTarget: optional(homogeneousTargetSchema),
    heterogeneousTarget: optional(heterogeneousTargetSchema),
    disaggregatedTarget: optional(disaggregatedTargetSchema),
  },
  {
    description: 'Which policy scales which workload.',
    'x-kubernetes-validations': [
      {
        rule: '(has(self.homogeneousTarget) ? 1 : 0) + (has(self.heterogeneousTarget) ? 1 : 0) + (has(self.disaggregatedTarget) ? 1 : 0) == 1',
        message: 'exactly one of homogeneousTarget, heterogeneousTarget or disaggregatedTarget must be set',
      },
    ],
  },
);

export const autoscalingPolicyBindingSchema = objectSchema(
  autoscalingPolicyBindingSpecSchema,
  autoscalingPolicyStatusSchema,
  'Applies the metrics and behavior of an AutoscalingPolicy to a workload: the form before policies had targets of their own.',
);

export type AutoscalingPolicyBindingSpec = Decoded<typeof autoscalingPolicyBindingSpecSchema>;
/** A decoded AutoscalingPolicyBinding. Its status has the shape of a policy's. */
export type AutoscalingPolicyBinding = KubeKind<
  'AutoscalingPolicyBinding',
  typeof autoscalingPolicyBindingSpecSchema,
  typeof autoscalingPolicyStatusSchema
>;
/** An AutoscalingPolicyBinding as a person writes it. */
export type AutoscalingPolicyBindingManifest = KubeManifest<
  'AutoscalingPolicyBinding',
  typeof autoscalingPolicyBindingSpecSchema
>;
