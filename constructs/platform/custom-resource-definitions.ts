import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import { NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';

/**
 * L2: the kinds that Kvasir's images read. Creates their CustomResourceDefinitions, which Argo CD never prunes: that would delete every
 * object. Those of Kthena's controllers that the app's `Cluster` names are left to Kthena.
 *
 * @example
 * new CustomResourceDefinitions(system, 'definitions');
 */
export class CustomResourceDefinitions extends Construct {
  readonly definitions: readonly ApiObject[];

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const { cluster } = stackContext(this);
    const foreignGroups: string[] = [
      ...(cluster.kthenaServesRoutes ? [NETWORKING_GROUP] : []),
      ...(cluster.kthenaServesWorkloads ? [WORKLOAD_GROUP] : []),
    ];
    const own = customResourceDefinitions.filter(({ spec }) => !foreignGroups.includes(spec.group));
    this.definitions = own.map(
      ({ apiVersion, kind, metadata, spec }) =>
        new ApiObject(this, spec.names.plural, {
          apiVersion,
          kind,
          metadata: {
            name: metadata.name,
            labels: ownedLabels(),
            annotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' },
          },
          spec,
        }),
    );
  }
}
