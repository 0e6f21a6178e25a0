import { Construct, type IConstruct } from 'constructs';
import { type FluxIgnoreRule, type FluxKustomizationSpec, KubeFluxKustomization } from '../kube/flux-kustomization';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { scalerOwnedFields } from './scaler-owned-fields';

export interface FluxKustomizationProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** The source that holds the repository. */
  readonly sourceRef: FluxKustomizationSpec['sourceRef'];
  /** Path of the folder in the source, such as `./prod`. */
  readonly path: string;
  /** Constructs whose objects lie in that folder. @default everything in the app */
  readonly manages?: readonly IConstruct[];
  /** How often the cluster is compared with the source. @default '10m' */
  readonly interval?: string;
  /** How soon a failed apply is tried again. @default '1m' */
  readonly retryInterval?: string;
  /** Whether objects whose files are gone are removed; definitions and claims never are. @default true */
  readonly prune?: boolean;
  /** Whether it is ready only when all objects are; models take minutes to load. @default false */
  readonly wait?: boolean;
  /** Longest apply, with `wait` the longest start of a model. @default Flux's own: the interval */
  readonly timeout?: string;
  /** @default the controller's */
  readonly serviceAccountName?: string;
}

/**
 * L2: one Flux Kustomization over the folder that synth writes, which needs no `kustomization.yaml`. Leaves every field alone that a
 * scaler of the stack owns. Goes into a chart of the namespace of its source.
 *
 * @example
 * new FluxKustomization(new Chart(app, 'flux', { namespace: 'flux-system' }), 'llm-platform', {
 *   sourceRef: { kind: 'GitRepository', name: 'llm-platform' },
 *   path: './dist/prod',
 * });
 */
export class FluxKustomization extends Construct {
  readonly name: string;
  readonly resource: KubeFluxKustomization;

  constructor(scope: Construct, id: string, props: FluxKustomizationProps) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    this.resource = new KubeFluxKustomization(this, 'Resource', {
      metadata: { name: this.name, labels: ownedLabels() },
      spec: () => {
        const ignore = ignoreRules(props.manages ?? [this.node.root]);
        return {
          sourceRef: props.sourceRef,
          path: props.path,
          interval: props.interval ?? '10m',
          retryInterval: props.retryInterval ?? '1m',
          ...(props.timeout === undefined ? {} : { timeout: props.timeout }),
          prune: props.prune ?? true,
          ...(props.wait === undefined ? {} : { wait: props.wait }),
          // Replacing an object whose immutable field changed would delete a model's pods without being asked.
          force: false,
          ...(props.serviceAccountName === undefined ? {} : { serviceAccountName: props.serviceAccountName }),
          ...(ignore.length === 0 ? {} : { ignore }),
        };
      },
    });
  }
}

/** One rule per object; a role whose place is not known cannot be named by a pointer. */
function ignoreRules(scopes: readonly IConstruct[]): readonly FluxIgnoreRule[] {
  const rules = new Map<string, { readonly target: FluxIgnoreRule['target']; readonly paths: string[] }>();
  for (const { group, kind, namespace, name, jsonPointer } of scalerOwnedFields(scopes)) {
    if (jsonPointer === undefined) continue;
    const key = `${group}/${kind}/${namespace}/${name}`;
    const rule = rules.get(key) ?? { target: { ...(group === '' ? {} : { group }), kind, name, namespace }, paths: [] };
    rules.set(key, rule);
    rule.paths.push(jsonPointer);
  }
  return [...rules.values()].map(({ target, paths }) => ({ paths, target }));
}
