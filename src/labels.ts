/**
 * Label, annotation and environment names that manifests and images share. Kthena's names are used where their meaning is the
 * same; the rest begins with `kvasir.dev/`.
 */

/** API group of ModelRoute, ModelServer and ExternalModelProvider. */
export const NETWORKING_GROUP = 'networking.serving.volcano.sh';
/** API group of AutoscalingPolicy, AutoscalingPolicyBinding, ModelBooster and ModelServing. */
export const WORKLOAD_GROUP = 'workload.serving.volcano.sh';
export const API_VERSION = 'v1alpha1';
export const NETWORKING_API_VERSION = `${NETWORKING_GROUP}/${API_VERSION}`;
export const WORKLOAD_API_VERSION = `${WORKLOAD_GROUP}/${API_VERSION}`;

export const Labels = {
  /** Model name of a ModelBooster, on everything it makes. */
  model: 'kvasir.dev/model',
  /** GPU pool of a ModelBooster, on its workload and pods. */
  pool: 'kvasir.dev/pool',
  /** Kthena's name for `model`, and for `pool`. */
  kthenaModelName: 'workload.serving.volcano.sh/model-name',
  kthenaBackendName: 'workload.serving.volcano.sh/backend-name',
  /** Which Kvasir images act on an object; absent or `kvasir` means ours. */
  class: 'kvasir.dev/class',
  partOf: 'app.kubernetes.io/part-of',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
  /** `true` on a Secret with the credential of an ExternalModelProvider; routers see no other Secret. Kthena's name. */
  providerCredential: 'networking.serving.volcano.sh/external-model-provider-credential',
  /** `true` on a Lease by which routers say that requests wait for a target. */
  wakeLease: 'kvasir.dev/wake',
  /** `true` on a Secret whose entries are API keys of the router's clients. */
  apiKeys: 'kvasir.dev/api-keys',
  /** Kthena's ModelServing labels, see its `modelserving.volcano.sh/*`. */
  modelServingName: 'modelserving.volcano.sh/name',
  modelServingGroup: 'modelserving.volcano.sh/group-name',
  modelServingRole: 'modelserving.volcano.sh/role',
  modelServingRoleId: 'modelserving.volcano.sh/role-id',
  modelServingEntry: 'modelserving.volcano.sh/entry',
  modelServingRevision: 'modelserving.volcano.sh/revision',
  /** Hash of what makes KV of two pods incompatible. */
  kvRevision: 'kvasir.dev/kv-revision',
} as const;

export const Annotations = {
  /** On a pod: it gets no new requests and keeps its streams. */
  drain: 'kvasir.dev/drain',
  /** On a pod: since when (RFC 3339) the autoscaler drains it, before its workload goes to zero replicas. */
  drainedAt: 'kvasir.dev/drained-at',
  /** On a workload: the term of the autoscaler's leader that last decided on it, as `<number of the term>/<identity>`. */
  scalerEpoch: 'kvasir.dev/scaler-epoch',
  /** On a policy: `kvasir` has Kvasir's autoscaler act on it where Kthena's runs too; any other value leaves it to somebody else. */
  autoscalerClass: 'kvasir.dev/autoscaler-class',
  /** On a policy: `true` stops the autoscaler from acting on it. */
  pause: 'kvasir.dev/pause',
  /** On a policy: `true` computes and reports, and writes no scale. */
  recommendOnly: 'kvasir.dev/recommend-only',
  /** On a policy: `default` or `kthena`; wins over the autoscaler's configuration. */
  autoscalerAlgorithm: 'kvasir.dev/autoscaler-algorithm',
  /** On a policy over several pools: `blocks` lays replicas on them in the order of Kthena's cost blocks; `least-cost` is the default. */
  poolStrategy: 'kvasir.dev/pool-strategy',
  /** On a policy: most replicas that one write adds or takes away, as a whole number ≥ 1. */
  largestStep: 'kvasir.dev/largest-step',
  /** On a policy: which of several grows first where a quota or budget is short; a whole number, the greater first. */
  scalingPriority: 'kvasir.dev/scaling-priority',
  /** On a pod template: content hash of the configuration that its pods read. */
  configHash: 'kvasir.dev/config-hash',
  /** On a pod or workload: GPU class from `src/catalog`, such as `H100-SXM-80GB`. */
  accelerator: 'kvasir.dev/accelerator',
  /** On a pod: memory of one accelerator in GiB, where the catalogue does not have its class. */
  acceleratorMemoryGiB: 'kvasir.dev/accelerator-memory-gib',
  /** On a workload's pods: price of one replica, in currency units per hour, as a decimal string. */
  costPerReplicaHour: 'kvasir.dev/cost-per-replica-hour',
  /** On a workload's pods: catalogue name of the model served, such as `Qwen/Qwen3-8B`. */
  modelShape: 'kvasir.dev/model-shape',
  /**
   * On a pod of the preview: container port → port that really listens, as `8000=41234,9090=41235`, on systems that have one
   * loopback address only.
   */
  portMap: 'kvasir.dev/port-map',
  /** On a ModelRoute where Kthena owns the definition: `spec.sessionAffinity` as JSON. */
  sessionAffinity: 'kvasir.dev/session-affinity',
  /** On a ModelRoute where Kthena owns the definition: JSON list of `shadow` for each rule, null for none. */
  shadow: 'kvasir.dev/shadow',
  /** On a ModelRoute where Kthena owns the definition: `spec.rateLimit.requestsPerUnit`. */
  requestsPerUnit: 'kvasir.dev/requests-per-unit',
  /** On a ModelRoute where Kthena owns the definition: `spec.tenantIsolation` as JSON. */
  tenantIsolation: 'kvasir.dev/tenant-isolation',
  /** On any object: findings about it that are known and fine, as JSON of code and reason. `kvasir validate` reads it. */
  acknowledged: 'kvasir.dev/acknowledged',
  /** On an object of KthenaManifests that names what is not there: it may be elsewhere in the cluster. `kvasir validate` reads it. */
  passedOn: 'kvasir.dev/passed-on',
  schedulingGroup: 'scheduling.k8s.io/group-name',
} as const;
