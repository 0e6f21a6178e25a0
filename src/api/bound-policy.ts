import type { AutoscalingPolicy } from './autoscaling-policy';
import type { AutoscalingPolicyBinding } from './autoscaling-policy-binding';

/**
 * The policy that a binding amounts to: metrics, behavior, tolerance and SLO of `policy`, target and identity of `binding`. Status of
 * it belongs on the binding.
 */
export function boundPolicy(policy: AutoscalingPolicy, binding: AutoscalingPolicyBinding): AutoscalingPolicy {
  const { homogeneousTarget: _one, heterogeneousTarget: _several, disaggregatedTarget: _roles, ...rules } = policy.spec;
  const { policyRef: _policy, ...target } = binding.spec;
  return {
    apiVersion: policy.apiVersion,
    kind: 'AutoscalingPolicy',
    metadata: binding.metadata,
    spec: { ...rules, ...target },
    ...(binding.status === undefined ? {} : { status: binding.status }),
  };
}
