import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';
import type { ModelServerManifest } from '../../src/api/model-server';
import type { Container, PodSpec } from '../../src/api/pod';
import type { TemplateLabels } from '../../src/checks/pod-templates';
import { expandWorkload } from '../../src/expand';
import { Labels } from '../../src/labels';
import type { FoundWorkload } from './workload-index';

/** The pods of one ModelServer, and whom they have to reach. */
export interface IsolatedEngines {
  /** Name of the ModelServer. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Port of requests and of the metrics page. */
  readonly port: number;
  /** Prefill and decode are apart. */
  readonly isDisaggregated: boolean;
}

/** Every object under `root` as it will be written, with its namespace; no NetworkPolicy, since those are made from the others. */
export function objectsUnder(root: IConstruct): readonly KubeObject[] {
  return root.node
    .findAll()
    .filter((construct): construct is ApiObject => ApiObject.isApiObject(construct) && construct.kind !== 'NetworkPolicy')
    .map((source) => {
      const object = source.toJson() as KubeObject;
      return { ...object, metadata: { namespace: 'default', ...object.metadata } };
    });
}

/** Every construct under `root`, in an order that does not depend on which was created first. */
export function constructsByPath(root: IConstruct): readonly IConstruct[] {
  return root.node.findAll().sort((a, b) => (a.node.path < b.node.path ? -1 : 1));
}

/** The ModelServers under `root`. */
export function enginesUnder(root: IConstruct): readonly IsolatedEngines[] {
  return constructsByPath(root)
    .filter((construct): construct is ApiObject => ApiObject.isApiObject(construct) && construct.kind === 'ModelServer')
    .map((server) => {
      const { metadata, spec } = server.toJson() as ModelServerManifest;
      return {
        name: metadata.name,
        namespace: metadata.namespace ?? 'default',
        labels: spec.workloadSelector.matchLabels ?? {},
        port: spec.workloadPort.port,
        isDisaggregated: spec.workloadSelector.pdGroup !== undefined,
      };
    });
}

/** What a server's pods do beside answering requests. */
export interface EngineHabits {
  /** Labels of all pods that talk to each other, leader and workers, prefill and decode; undefined when each pod is alone. */
  readonly group: Readonly<Record<string, string>> | undefined;
  /** They fetch their model from outside when they start. */
  readonly downloads: boolean;
}

/**
 * Reads from the workloads that make a server's pods what those have to do. Where none is known, everything is assumed: what is cut off by
 * mistake never starts, and tells nobody why.
 */
export function engineHabits(engines: IsolatedEngines, own: readonly FoundWorkload[]): EngineHabits {
  if (own.length === 0) return { group: engines.labels, downloads: true };
  const isAlone = own.every(({ object }) => object.kind === 'Deployment') && !engines.isDisaggregated;
  return {
    group: isAlone
      ? undefined
      : sharedLabels(
          own.flatMap(({ templates }) => templates),
          engines.labels,
        ),
    downloads: own.some(({ object }) => downloadsModel(object)),
  };
}

/** Labels that a rollout changes while pods of before still run. */
const CHANGING: readonly string[] = [Labels.kvRevision, Labels.modelServingRevision];

/** What all `templates` have in common; a ModelServer may select leaders only, and their workers belong to the group too. */
function sharedLabels(
  templates: readonly TemplateLabels[],
  otherwise: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const [first = {}, ...rest] = templates;
  const shared = Object.entries(first).filter(
    ([key, value]) => value !== null && !CHANGING.includes(key) && rest.every((labels) => labels[key] === value),
  );
  return shared.length === 0 ? otherwise : (Object.fromEntries(shared) as Record<string, string>);
}

/** Whether a pod of `workload` fetches something before it starts, or has an engine that is not told where in the pod its model is. */
function downloadsModel(workload: KubeObject): boolean {
  const pods = expandWorkload(workload)?.pods ?? [];
  return pods.length === 0 || pods.some(({ pod }) => (pod.spec.initContainers ?? []).length > 0 || !readsVolume(pod.spec));
}

/** Whether a container is told a path in one of its volumes, or has a claim or a folder of the node that it may only read. */
function readsVolume({ containers, volumes = [] }: PodSpec & { readonly volumes?: readonly Volume[] }): boolean {
  const kept = volumes.filter((volume) => volume.persistentVolumeClaim ?? volume.hostPath).map((volume) => volume.name);
  return containers.some(({ args = [], command = [], volumeMounts = [] }: MountingContainer) => {
    const words = [...command, ...args].map((word) => word.replace(/^-[^=]*=/, ''));
    return volumeMounts.some(
      ({ name, mountPath, readOnly }) =>
        (readOnly === true && kept.includes(name)) ||
        words.some((word) => word === mountPath || word.startsWith(`${mountPath}/`)),
    );
  });
}

interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: object;
  readonly hostPath?: object;
}

type MountingContainer = Container & {
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
};
