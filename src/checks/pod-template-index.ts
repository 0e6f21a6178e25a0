import type { KubeObject } from '../api/meta';
import { mayMatch, podTemplatesOf, type TemplateLabels } from './pod-templates';

/** Finds the pods that objects make by their labels, without looking at each for each selector. */
export class PodTemplateIndex {
  /** By namespace, label key and value; the value is empty where the controller chooses it. */
  private readonly byLabel = new Map<string, TemplateLabels[]>();

  /** @param selectors labels that will be asked for: pods are found by the first of each. */
  constructor(objects: readonly KubeObject[], selectors: readonly Readonly<Record<string, string>>[]) {
    const keys = new Set(selectors.flatMap((wanted) => Object.keys(wanted).slice(0, 1)));
    for (const object of objects) {
      for (const labels of podTemplatesOf(object)) {
        for (const key of keys) {
          if (Object.hasOwn(labels, key))
            this.add(`${object.metadata.namespace ?? 'default'}/${key}=${labels[key] ?? ''}`, labels);
        }
      }
    }
  }

  /** Pods of `namespace` that may have all of `wanted`, which is one of the selectors and names at least one label. */
  matching(namespace: string, wanted: Readonly<Record<string, string>>): readonly TemplateLabels[] {
    const [first] = Object.entries(wanted);
    if (first === undefined) return [];
    const [key, value] = first;
    const exact = this.byLabel.get(`${namespace}/${key}=${value}`) ?? [];
    const chosenLater = value === '' ? [] : (this.byLabel.get(`${namespace}/${key}=`) ?? []);
    return [...exact, ...chosenLater].filter((labels) => mayMatch(labels, wanted));
  }

  private add(at: string, labels: TemplateLabels): void {
    const found = this.byLabel.get(at);
    if (found === undefined) this.byLabel.set(at, [labels]);
    else found.push(labels);
  }
}
