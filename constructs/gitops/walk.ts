import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';

/** Everything in a tree, in the order in which it was made. */
export interface Walk {
  readonly constructs: readonly IConstruct[];
  readonly objects: readonly ApiObject[];
}

/**
 * Visits a tree once. Stock cdk8s visits all of it again for each chart, which makes a thousand charts take a thousand times a thousand
 * steps.
 */
export function walk(root: IConstruct): Walk {
  const constructs: IConstruct[] = [];
  const objects: ApiObject[] = [];
  const visit = (construct: IConstruct): void => {
    constructs.push(construct);
    if (ApiObject.isApiObject(construct)) objects.push(construct);
    for (const child of construct.node.children) visit(child);
  };
  visit(root);
  return { constructs, objects };
}
