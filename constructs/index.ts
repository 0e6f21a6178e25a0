/** What a stack imports from `kvasir`, in the order of the documentation. */

export type { Amount, Bill, BillLine, ModelBill } from '../src/checks/cost';
export type { Finding } from '../src/errors';
export { KvasirError } from '../src/errors';
export { Accelerator, type AcceleratorOptions } from './accelerator';
export {
  AutoscalingPolicy,
  type AutoscalingPolicyProps,
  DEFAULT_BEHAVIOR,
  type RoleRatio,
  type Scalable,
  type ScaledPool,
  type ScaledRole,
} from './autoscaling-policy';
export { Cluster, type ClusterFacts, type KthenaPresence } from './cluster';
export type { CustomEngineOptions } from './engine/custom';
export { Engine } from './engine/engine';
export type { EngineMetrics, Launch, LaunchRequest } from './engine/engine-spec';
export type { SglangOptions } from './engine/sglang';
export type { VllmOptions } from './engine/vllm';
export { ExternalModelProvider, type ExternalModelProviderProps } from './external-model-provider';
export { type AcknowledgedFinding, Findings, FindingsError, type SortedFindings } from './findings';
export { Gang, type GangMember, type GangProps, type GangRoleOptions } from './gang';
export type { GangOptions, TopologyOptions } from './gang-options';
export { Gateway, type GatewayProps, type GatewayRef, type ListenerOptions } from './gateway';
export { type GatewayBackend, GatewayRoute, type GatewayRouteProps, type ServiceBackend } from './gateway-route';
export { ArgoApplication, type ArgoApplicationProps, type ArgoSource } from './gitops/argo-application';
export { ArgoHealth, type ArgoHealthProps } from './gitops/argo-health';
export { FluxKustomization, type FluxKustomizationProps } from './gitops/flux-kustomization';
export type { SwapResult } from './gitops/folder-swap';
export { GitOpsApp, type GitOpsAppProps } from './gitops/gitops-app';
export type { ImageSettings } from './images';
export { InferencePool, type InferencePoolProps } from './inference-pool';
export { type AnyKubeObject, KthenaManifests, type KthenaManifestsProps } from './kthena-manifests';
export { type ArgoApplicationSpec, type ArgoIgnoreDifference, KubeArgoApplication } from './kube/argo-application';
export { KubeAutoscalingPolicy } from './kube/autoscaling-policy';
export { KubeAutoscalingPolicyBinding } from './kube/autoscaling-policy-binding';
export { type CoschedulingPodGroupSpec, KubeCoschedulingPodGroup } from './kube/coscheduling-pod-group';
export { type DisaggregatedRole, type DisaggregatedSetSpec, KubeDisaggregatedSet } from './kube/disaggregated-set';
export { KubeExternalModelProvider } from './kube/external-model-provider';
export { type FluxIgnoreRule, type FluxKustomizationSpec, KubeFluxKustomization } from './kube/flux-kustomization';
export { type GatewayListener, type GatewaySpec, KubeGateway } from './kube/gateway';
export { type HttpBackendRef, type HttpRouteRule, type HttpRouteSpec, KubeHttpRoute } from './kube/http-route';
export { type HyperNodeSelector, type HyperNodeSpec, KubeHyperNode } from './kube/hyper-node';
export { type InferencePoolSpec, KubeInferencePool } from './kube/inference-pool';
export { KubeLeaderWorkerSet, type LeaderWorkerSetSpec } from './kube/leader-worker-set';
export { KubeModelRoute } from './kube/model-route';
export { KubeModelServer } from './kube/model-server';
export { KubeModelServing } from './kube/model-serving';
export { KubeNetworkPolicy, type NetworkPeer, type NetworkPolicySpec, type NetworkPort } from './kube/network-policy';
export { KubePodGroup, type PodGroupSpec, type PodGroupTopology, type SubGroupPolicy } from './kube/pod-group';
export { KubePodMonitor, type PodMonitorSpec } from './kube/pod-monitor';
export { KubePrometheusRule, type PrometheusRuleEntry, type PrometheusRuleSpec } from './kube/prometheus-rule';
export { KubeServiceMonitor, type ServiceMonitorSpec } from './kube/service-monitor';
export {
  type CelValidation,
  KubeValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicySpec,
} from './kube/validating-admission-policy';
export {
  KubeValidatingAdmissionPolicyBinding,
  type ValidatingAdmissionPolicyBindingSpec,
} from './kube/validating-admission-policy-binding';
export { KvConnector } from './kv-connector';
export type { HttpConnectorOptions } from './kv-connector/http';
export type { LmCacheOptions } from './kv-connector/lmcache';
export type { MooncakeOptions } from './kv-connector/mooncake';
export type { NixlOptions } from './kv-connector/nixl';
export type { SglangBootstrapOptions, SglangTransferBackend } from './kv-connector/sglang-bootstrap';
export type { RdmaNetwork } from './kv-connector/wiring';
export { LoraAdapter, type LoraAdapterOptions, type PlacedAdapter } from './lora-adapter';
export { type CustomMetricOptions, Metric } from './metric';
export { ModelBooster, type ModelBoosterProps } from './model-booster';
export { type AccessMode, ModelCache, type NewClaimOptions, type NodeLocalOptions, type PodVolumeOptions } from './model-cache';
export type { ModelDownload } from './model-download';
export type { ModelFiles, ModelFilesProps, OwnRoute } from './model-files';
export {
  type CanaryOptions,
  ModelRoute,
  type ModelRouteProps,
  type ModelServerLike,
  type ProviderLike,
  type RouteRule,
  type RouteTarget,
  type ShadowOptions,
  type StickySessionOptions,
  type TokenLimits,
  type WeightedTarget,
} from './model-route';
export { type DisaggregationOptions, ModelServer, type ModelServerProps, type TrafficPolicyOptions } from './model-server';
export {
  type BucketOptions,
  type ClaimOptions,
  type FolderOptions,
  type HubOptions,
  type ModelOrigin,
  ModelSource,
} from './model-source';
export { ModelWeights, type ModelWeightsProps } from './model-weights';
export { NodeLabels } from './node-labels';
export { type DisaggregationProps, PDGroup, type PDGroupProps, type PdRoleProps } from './pd-group';
export type { PdRatio } from './pd-group/ratio';
export { AdmissionPolicies, type AdmissionPoliciesProps } from './platform/admission-policies';
export type { AlertThresholds } from './platform/alert-rules';
export { Autoscaler, type AutoscalerProps } from './platform/autoscaler';
export { CustomResourceDefinitions } from './platform/custom-resource-definitions';
export type { ExternalRedis, ExternalRedisOptions } from './platform/external-redis';
export { InferencePlatform, type InferencePlatformProps } from './platform/inference-platform';
export { Monitoring, type MonitoringOptions, type MonitoringProps } from './platform/monitoring';
export { NetworkIsolation, type NetworkIsolationProps } from './platform/network-isolation';
export { Redis, type RedisProps } from './platform/redis';
export type { RedisServer, RedisTls } from './platform/redis-server';
export { Router, type RouterProps } from './platform/router';
export type { RouterAccount } from './platform/router-accounts';
export type { ApiKeyOptions, TokenOptions } from './platform/router-auth';
export type { RouterGuardrail } from './platform/router-guardrail';
export type { RouterReplication } from './platform/router-replication';
export type { EngineTls, RouterTls } from './platform/router-tls';
export { between, Replicas } from './replicas';
export { Rollout, type RolloutOptions } from './rollout';
export { SecretRef } from './secret-ref';
export { type PoolProps, ServingGroup, type ServingGroupProps } from './serving-group';
export type { Parallelism } from './workload/parallelism';
export type { PodOverride, PodPatch } from './workload/pod-override';
export type { PodSecurityOptions } from './workload/pod-security';
export { RoleSet, type RoleSetProps } from './workload/role-set';
export type { Recovery, ScaleTarget, Workload, WorkloadName } from './workload/workload';
