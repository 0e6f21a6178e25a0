import type { KubeObject } from '../../src/api/meta';
import { mayMatch, podTemplatesOf, type TemplateLabels } from '../../src/checks/pod-templates';

/** An object that makes pods, and the labels of each kind of them. */
export interface FoundWorkload {
  readonly object: KubeObject;
  readonly templates: readonly TemplateLabels[];
}

/** Pods of a namespace, by their labels. */
interface SelectedPods {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Finds the workloads that make a server's pods, without looking at each for each server. */
export class WorkloadIndex {
  private readonly all: readonly FoundWorkload[];
  /** By namespace, label key and value; the value is empty where the controller chooses it. */
  private readonly byLabel = new Map<string, Set<FoundWorkload>>();

  constructor(objects: readonly KubeObject[]) {
    this.all = objects
      .map((object) => ({ object, templates: podTemplatesOf(object) }))
      .filter(({ templates }) => templates.length > 0);
    for (const workload of this.all) {
      for (const [key, value] of workload.templates.flatMap((labels) => Object.entries(labels))) {
        const at = placeOf(workload.object.metadata.namespace, key, value ?? '');
        this.byLabel.set(at, (this.byLabel.get(at) ?? new Set()).add(workload));
      }
    }
  }

  in(namespace: string): readonly FoundWorkload[] {
    return this.all.filter(({ object }) => object.metadata.namespace === namespace);
  }

  /** Those that may make such pods; all of the namespace where no label is given. */
  of({ namespace, labels }: SelectedPods): readonly FoundWorkload[] {
    const [first] = Object.entries(labels);
    if (first === undefined) return this.in(namespace);
    const [key, value] = first;
    const found = [value, ''].flatMap((each) => [...(this.byLabel.get(placeOf(namespace, key, each)) ?? [])]);
    return [...new Set(found)].filter(({ templates }) => templates.some((template) => mayMatch(template, labels)));
  }
}

const placeOf = (namespace: string | undefined, key: string, value: string): string => `${namespace}/${key}=${value}`;
