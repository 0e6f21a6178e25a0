import type { IConstruct } from 'constructs';
import type { ApiKind, ApiObjects } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import { Findings, FindingsError } from '../findings';
import { examine } from '../gitops/examine';
import { GitOpsApp } from '../gitops/gitops-app';

/** An object of any kind, its fields as in the API. */
export type AnyObject = KubeObject & { readonly [field: string]: unknown };

/** The type of objects of a kind, as far as Kvasir knows it. */
export type ObjectOf<K extends string> = K extends ApiKind ? ApiObjects[K] : AnyObject;

/** The objects of a chart, as synth would write them. */
export class SynthesizedObjects {
  constructor(readonly all: readonly AnyObject[]) {}

  /** All objects of `kind`, in the order in which they were made. */
  ofKind<K extends string>(kind: K): readonly ObjectOf<K>[] {
    return this.all.filter((object) => object.kind === kind) as unknown as readonly ObjectOf<K>[];
  }

  /** @throws RangeError when there is none; it lists what there is. */
  get<K extends string>(kind: K, name: string): ObjectOf<K> {
    const found = this.ofKind(kind).find(({ metadata }) => metadata.name === name);
    if (found !== undefined) return found;
    const present = this.all.map((object) => `${object.kind} ${object.metadata.name}`).join(', ');
    throw new RangeError(`no ${kind} ${name} among ${present === '' ? 'no objects' : present}`);
  }
}

/**
 * Synthesizes a chart (or any construct) in memory, in the form in which `GitOpsApp` writes it.
 *
 * @throws FindingsError when the app around it has errors.
 */
export function synth(scope: IConstruct): SynthesizedObjects {
  const { root } = scope.node;
  const { rendered, findings } = examine(root, root instanceof GitOpsApp ? root.findings : new Findings());
  const errors = findings.open.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new FindingsError(errors);
  const inside = rendered.filter(({ source }) => source.node.scopes.includes(scope));
  return new SynthesizedObjects(inside.map(({ object }) => object as AnyObject));
}
