/** One page of `docs/constructs/`. */
export interface ConstructPage {
  /** File name without extension. What a module of the same name exports is on this page. */
  readonly name: string;
  /** Name of what the page is about, which comes first and gives the title. Without it, the page has a title of its own and tells of many. */
  readonly subject?: string;
  /** Title and first words of a page without a subject. */
  readonly about?: { readonly title: string; readonly text: string };
  /**
   * More modules whose exports are on this page: paths in `constructs/`, or a folder of it with `/*`. The types of other modules are on the first
   * page that names them.
   */
  readonly modules?: readonly string[];
}

/** Pages that belong together, in the order in which a reader needs them. */
export interface PageGroup {
  readonly title: string;
  /** Page of `docs/` that tells how they are used. */
  readonly guide: string;
  readonly pages: readonly ConstructPage[];
}

/** Where everything that `kvasir` exports is described. */
export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'The stack',
    guide: 'constructs.md',
    pages: [
      { name: 'gitops-app', subject: 'GitOpsApp', modules: ['gitops/folder-swap', '../src/checks/cost'] },
      { name: 'cluster', subject: 'Cluster' },
      { name: 'node-labels', subject: 'NodeLabels' },
      { name: 'images', subject: 'ImageSettings' },
      { name: 'findings', subject: 'Findings', modules: ['../src/errors'] },
    ],
  },
  {
    title: 'Models',
    guide: 'constructs.md',
    pages: [
      { name: 'model-booster', subject: 'ModelBooster' },
      { name: 'pd-group', subject: 'PDGroup', modules: ['pd-group/*'] },
      {
        name: 'serving-group',
        subject: 'ServingGroup',
        modules: ['workload/group-props', 'workload/parallelism', 'workload/pod-security', 'workload/workload'],
      },
      { name: 'role-set', subject: 'RoleSet' },
      { name: 'gang', subject: 'Gang', modules: ['gang-options'] },
      { name: 'autoscaling-policy', subject: 'AutoscalingPolicy' },
    ],
  },
  {
    title: 'What a model is made of',
    guide: 'constructs.md',
    pages: [
      { name: 'engine', subject: 'Engine', modules: ['engine/*'] },
      { name: 'accelerator', subject: 'Accelerator' },
      { name: 'replicas', subject: 'Replicas' },
      { name: 'metric', subject: 'Metric' },
      { name: 'rollout', subject: 'Rollout' },
      { name: 'kv-connector', subject: 'KvConnector', modules: ['kv-connector/*'] },
      { name: 'pod-override', subject: 'PodOverride' },
      { name: 'secret-ref', subject: 'SecretRef' },
    ],
  },
  {
    title: 'Weights',
    guide: 'model-weights.md',
    pages: [
      { name: 'model-source', subject: 'ModelSource' },
      { name: 'model-cache', subject: 'ModelCache' },
      { name: 'model-weights', subject: 'ModelWeights', modules: ['model-download'] },
      { name: 'lora-adapter', subject: 'LoraAdapter' },
    ],
  },
  {
    title: 'Routing',
    guide: 'routing-objects.md',
    pages: [
      { name: 'model-route', subject: 'ModelRoute' },
      { name: 'model-server', subject: 'ModelServer' },
      { name: 'external-model-provider', subject: 'ExternalModelProvider' },
      { name: 'gateway', subject: 'Gateway' },
      { name: 'gateway-route', subject: 'GatewayRoute' },
      { name: 'inference-pool', subject: 'InferencePool' },
    ],
  },
  {
    title: 'The platform',
    guide: 'platform.md',
    pages: [
      { name: 'inference-platform', subject: 'InferencePlatform' },
      { name: 'router', subject: 'Router' },
      { name: 'autoscaler', subject: 'Autoscaler' },
      { name: 'redis', subject: 'Redis', modules: ['platform/external-redis'] },
      { name: 'monitoring', subject: 'Monitoring', modules: ['platform/alert-rules'] },
      { name: 'network-isolation', subject: 'NetworkIsolation' },
      { name: 'admission-policies', subject: 'AdmissionPolicies' },
      { name: 'custom-resource-definitions', subject: 'CustomResourceDefinitions' },
    ],
  },
  {
    title: 'GitOps and migration',
    guide: 'gitops.md',
    pages: [
      { name: 'argo-application', subject: 'ArgoApplication' },
      { name: 'argo-health', subject: 'ArgoHealth' },
      { name: 'flux-kustomization', subject: 'FluxKustomization' },
      { name: 'kthena-manifests', subject: 'KthenaManifests' },
    ],
  },
  {
    title: 'Bare kinds',
    guide: 'constructs.md',
    pages: [
      {
        name: 'kube-objects',
        about: {
          title: 'Bare kinds',
          text: 'One class for each kind that cdk8s-plus-28 lacks: `metadata` and `spec` as in the API, nothing added. The fields of those that Kvasir reads are in [reference.md](../reference.md).',
        },
        modules: ['kube/*'],
      },
    ],
  },
];

/** Where the fields of types are described that are made from schemas: headings of `docs/reference.md`. */
export const SCHEMA_TYPES: Readonly<Record<string, string>> = {
  AutoscalerConfig: 'autoscaler-configuration',
  Behavior: 'autoscalingpolicy',
  ModelMatch: 'modelroute',
  ParentReference: 'modelroute',
  RouterConfig: 'router-configuration',
};

/** The page of what `module`, a path from the root without extension, exports. */
export function pageOfModule(module: string): ConstructPage | undefined {
  const path = module.startsWith('constructs/') ? module.slice('constructs/'.length) : `../${module}`;
  const pages = PAGE_GROUPS.flatMap((group) => group.pages);
  const folder = `${path.slice(0, path.lastIndexOf('/'))}/*`;
  return (
    pages.find(({ modules = [] }) => modules.includes(path) || modules.includes(folder)) ??
    pages.find(({ name }) => name === path.slice(path.lastIndexOf('/') + 1))
  );
}
