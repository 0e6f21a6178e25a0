import type { KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { Labels } from '../labels';

/** The labels of pods that an object makes. A value of null stands for one that its controller chooses. */
export type TemplateLabels = Readonly<Record<string, string | null>>;

const LWS = 'leaderworkerset.sigs.k8s.io';
/** Labels that the LeaderWorkerSet controller adds to every pod, beside the name. */
const LWS_LABELS: TemplateLabels = {
  [`${LWS}/group-index`]: null,
  [`${LWS}/group-key`]: null,
  [`${LWS}/worker-index`]: null,
  [`${LWS}/template-revision-hash`]: null,
};

const DISAGGREGATED = 'disaggregatedset.x-k8s.io';

type Fields = Readonly<Record<string, unknown>>;

/** The labels of each kind of pod that `object` is or makes; none for other objects. */
export function podTemplatesOf(object: KubeObject): readonly TemplateLabels[] {
  if (!WITH_PODS.has(object.kind)) return [];
  const [group = ''] = object.apiVersion.split('/');
  const spec = fields((object as unknown as Fields).spec);
  switch (`${group}/${object.kind}`) {
    case 'v1/Pod':
      return [object.metadata.labels ?? {}];
    case 'apps/Deployment':
    case 'apps/ReplicaSet':
      return [{ ...labelsOf(spec.template), 'pod-template-hash': null }];
    case 'apps/StatefulSet':
      return [
        {
          ...labelsOf(spec.template),
          'statefulset.kubernetes.io/pod-name': null,
          'apps.kubernetes.io/pod-index': null,
          'controller-revision-hash': null,
        },
      ];
    case 'apps/DaemonSet':
    case 'batch/Job':
      return [labelsOf(spec.template)];
    case 'leaderworkerset.x-k8s.io/LeaderWorkerSet':
      return leaderWorkerTemplates(object.metadata.name, fields(spec.leaderWorkerTemplate));
    case 'disaggregatedset.x-k8s.io/DisaggregatedSet':
      return disaggregatedTemplates(object.metadata.name, spec.roles);
    case 'workload.serving.volcano.sh/ModelServing':
      return servingTemplates(object as ModelServing);
    default:
      return [];
  }
}

const WITH_PODS: ReadonlySet<string> = new Set([
  'Pod',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'Job',
  'LeaderWorkerSet',
  'DisaggregatedSet',
  'ModelServing',
]);

/** Whether pods with `labels` have all of `wanted`, as far as can be known before they exist. */
export function mayMatch(labels: TemplateLabels, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(labels, key) && (labels[key] === null || labels[key] === value),
  );
}

/** Its controller makes LeaderWorkerSets of names that it chooses. */
function disaggregatedTemplates(name: string, roles: unknown): readonly TemplateLabels[] {
  return (Array.isArray(roles) ? roles : []).map(fields).flatMap((role) => {
    const own = {
      [`${DISAGGREGATED}/name`]: name,
      [`${DISAGGREGATED}/role`]: String(role.name),
      [`${DISAGGREGATED}/slice`]: null,
    };
    const templates = leaderWorkerTemplates(null, fields(fields(role.spec).leaderWorkerTemplate));
    return templates.map((labels) => ({ ...labels, ...own }));
  });
}

function leaderWorkerTemplates(name: string | null, template: Fields): readonly TemplateLabels[] {
  const added = { ...LWS_LABELS, [`${LWS}/name`]: name };
  const worker = { ...labelsOf(template.workerTemplate), ...added };
  return template.leaderTemplate === undefined ? [worker] : [{ ...labelsOf(template.leaderTemplate), ...added }, worker];
}

/** A template's own labels win over those of the controller. */
function servingTemplates({ metadata, spec }: ModelServing): readonly TemplateLabels[] {
  return spec.template.roles.flatMap(({ name, entryTemplate, workerReplicas, workerTemplate }) => {
    const added: TemplateLabels = {
      [Labels.modelServingName]: metadata.name,
      [Labels.modelServingRole]: name,
      [Labels.modelServingGroup]: null,
      [Labels.modelServingRoleId]: null,
      [Labels.modelServingRevision]: null,
    };
    const entry = { ...added, [Labels.modelServingEntry]: 'true', ...entryTemplate.metadata?.labels };
    return workerReplicas > 0 ? [entry, { ...added, ...workerTemplate?.metadata?.labels }] : [entry];
  });
}

function labelsOf(template: unknown): Readonly<Record<string, string>> {
  return fields(fields(fields(template).metadata).labels) as Readonly<Record<string, string>>;
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
