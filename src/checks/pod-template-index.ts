import type { KubeObject } from '../api/meta';
import { mayMatch, podTemplatesOf, type TemplateLabels } from './pod-templates';

/** Finds the pods that objects make by their labels, without looking at each for each selector. */
export class PodTemplateIndex {
  /** By namespace, label key and value; the value is empty where the controller chooses it. */
  private readonly byLabel = new Map<string, TemplateLabels[]>();

  constructor(objects: readonly KubeObject[]) {
    for (const object of objects) {
      const namespace = object.metadata.namespace ?? 'default';
      for (const labels of podTemplatesOf(object)) {
        for (const [key, value] of Object.entries(labels)) {
          const at = `${namespace}/${key}=${value ?? ''}`;
          const found = this.byLabel.get(at);
          if (found === undefined) this.byLabel.set(at, [labels]);
          else found.push(labels);
        }
      }
    }
  }

  /** Pods of `namespace` that may have all of `wanted`, which names at least one label. */
  matching(namespace: string, wanted: Readonly<Record<string, string>>): readonly TemplateLabels[] {
    const [first] = Object.entries(wanted);
    if (first === undefined) return [];
    const [key, value] = first;
    const exact = this.byLabel.get(`${namespace}/${key}=${value}`) ?? [];
    const chosenLater = value === '' ? [] : (this.byLabel.get(`${namespace}/${key}=`) ?? []);
    return [...exact, ...chosenLater].filter((labels) => mayMatch(labels, wanted));
  }
}
