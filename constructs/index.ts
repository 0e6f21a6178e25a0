/** What a stack imports from `kvasir`, in the order of the documentation. */

export type { Finding } from '../src/errors';
export { KvasirError } from '../src/errors';
export { Accelerator, type AcceleratorOptions } from './accelerator';
export {
  AutoscalingPolicy,
  type AutoscalingPolicyProps,
  DEFAULT_BEHAVIOR,
  type Scalable,
  type ScaledPool,
} from './autoscaling-policy';
export type { Amount, Bill, BillLine } from './bill';
export { Cluster, type ClusterFacts, type KthenaPresence } from './cluster';
export type { CustomEngineOptions } from './engine/custom';
export { Engine } from './engine/engine';
export type { EngineMetrics, Launch, LaunchRequest } from './engine/engine-spec';
export type { SglangOptions } from './engine/sglang';
export type { VllmOptions } from './engine/vllm';
export { type AcknowledgedFinding, Findings, FindingsError, type SortedFindings } from './findings';
export type { SwapResult } from './gitops/folder-swap';
export { GitOpsApp, type GitOpsAppProps } from './gitops/gitops-app';
export type { ImageSettings } from './images';
export { KubeAutoscalingPolicy } from './kube/autoscaling-policy';
export { KubeAutoscalingPolicyBinding } from './kube/autoscaling-policy-binding';
export { KubeExternalModelProvider } from './kube/external-model-provider';
export { KubeModelRoute } from './kube/model-route';
export { KubeModelServer } from './kube/model-server';
export { type CustomMetricOptions, Metric } from './metric';
export { ModelBooster, type ModelBoosterProps } from './model-booster';
export { ModelRoute, type ModelRouteProps, type ModelServerLike, type RouteRule, type WeightedTarget } from './model-route';
export { ModelServer, type ModelServerProps, type TrafficPolicyOptions } from './model-server';
export { type ClaimOptions, type HuggingFaceOptions, type ModelOrigin, ModelSource } from './model-source';
export { NodeLabels } from './node-labels';
export { Autoscaler, type AutoscalerProps } from './platform/autoscaler';
export { CustomResourceDefinitions } from './platform/custom-resource-definitions';

export { InferencePlatform, type InferencePlatformProps } from './platform/inference-platform';
export { Router, type RouterProps } from './platform/router';
export { between, Replicas } from './replicas';
export { Rollout } from './rollout';
export { SecretRef } from './secret-ref';
export { type PoolProps, ServingGroup, type ServingGroupProps } from './serving-group';
export type { PodOverride, PodPatch } from './workload/pod-override';
export type { PodSecurityOptions } from './workload/pod-security';
export type { ScaleTarget, Workload } from './workload/workload';
