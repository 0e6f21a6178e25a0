import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { Labels } from '../../src/labels';
import { HEALTH_SCRIPTS } from './argo-health-scripts';
import { SYNC_OPTIONS } from './keep-when-pruned';

export interface ArgoHealthProps {
  /** Name of Argo CD's configuration. @default 'argocd-cm' */
  readonly name?: string;
}

/**
 * L2: what Argo CD must know of the kinds that Kvasir's stacks have, as entries of its `argocd-cm`: how healthy an object is, and that a
 * changed status alone is no reason to compare it again. Is applied beside what else stands in that ConfigMap and never removes it. Goes
 * into a chart of Argo CD's own namespace; where Helm or an operator owns the ConfigMap, give them `ArgoHealth.entries` instead.
 *
 * @example
 * new ArgoHealth(new Chart(app, 'argocd', { namespace: 'argocd' }), 'health');
 */
export class ArgoHealth extends Construct {
  /** Key in `argocd-cm` → value. */
  static readonly entries: Readonly<Record<string, string>> = Object.fromEntries([
    ['resource.ignoreResourceUpdatesEnabled', 'true'],
    ...HEALTH_SCRIPTS.flatMap(({ group, kind, lua }) => [
      [`resource.customizations.health.${group}_${kind}`, lua],
      [`resource.customizations.ignoreResourceUpdates.${group}_${kind}`, 'jsonPointers:\n- /status\n'],
    ]),
  ]);

  readonly configMap: k8s.KubeConfigMap;

  constructor(scope: Construct, id: string, props: ArgoHealthProps = {}) {
    super(scope, id);
    this.configMap = new k8s.KubeConfigMap(this, 'Resource', {
      metadata: {
        name: props.name ?? 'argocd-cm',
        // Argo CD reads only a ConfigMap with this label.
        labels: { [Labels.partOf]: 'argocd' },
        annotations: { [SYNC_OPTIONS]: 'ServerSideApply=true,Prune=false,Delete=false' },
      },
      data: { ...ArgoHealth.entries },
    });
  }
}
