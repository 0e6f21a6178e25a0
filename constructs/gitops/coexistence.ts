import type { IConstruct } from 'constructs';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import { Labels, NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';
import type { Cluster } from '../cluster';
import { Autoscaler } from '../platform/autoscaler';
import type { FoundAt } from './found-at';
import type { RenderedObject } from './rendered-object';

/** What Kthena's controllers of `cluster` and this stack would both act on. Nothing where Kthena is absent. */
export function coexistence(
  constructs: readonly IConstruct[],
  rendered: readonly RenderedObject[],
  cluster: Cluster,
): readonly FoundAt[] {
  if (cluster.kthena === 'absent') return [];
  return [
    ...constructs.flatMap((construct) => ofConstruct(construct, cluster)),
    ...rendered.flatMap((entry) => ofObject(entry, cluster)),
  ];
}

function ofConstruct(construct: IConstruct, cluster: Cluster): readonly FoundAt[] {
  const object = construct.node.path;
  if (construct instanceof Autoscaler && cluster.kthenaServesWorkloads) {
    return [
      {
        construct,
        finding: {
          code: 'coexistence/two-autoscalers',
          severity: 'error',
          object,
          message: `Kthena's controllers scale by the same policies here (kthena: '${cluster.kthena}')`,
          remedy: 'leave it out with autoscaler: false, or leave the workload part of Kthena out of the cluster',
        },
      },
    ];
  }
  return [];
}

function ofObject(entry: RenderedObject, cluster: Cluster): readonly FoundAt[] {
  const { object, source } = entry;
  const [group] = object.apiVersion.split('/');
  if (cluster.kthenaServesWorkloads && (group === 'leaderworkerset.x-k8s.io' || group === 'disaggregatedset.x-k8s.io')) {
    return [
      {
        construct: source,
        finding: {
          code: 'coexistence/leader-worker-set',
          severity: 'error',
          object: entry.place,
          message: `Kthena's controllers make a ModelServing and pods of their own of it (kthena: '${cluster.kthena}')`,
          remedy: 'let a ModelServing run these pods, or leave the workload part of Kthena out of the cluster',
        },
      },
    ];
  }
  const isDefinition = object.kind === 'CustomResourceDefinition' && isForeign(object.metadata.name, cluster);
  if (!isDefinition) return [];
  return [
    {
      construct: source,
      finding: {
        code: 'coexistence/definition',
        severity: 'error',
        object: entry.place,
        message: `Kthena installs this definition here (kthena: '${cluster.kthena}'), and each would undo the other's`,
        remedy: `leave it out; objects of the kind carry the label ${Labels.class}, by which Kvasir's images find theirs`,
      },
    },
  ];
}

function isForeign(definition: string, cluster: Cluster): boolean {
  const found = customResourceDefinitions.find(({ metadata }) => metadata.name === definition);
  const group = found?.spec.group ?? definition.slice(definition.indexOf('.') + 1);
  return (
    (group === NETWORKING_GROUP && cluster.kthenaServesRoutes) || (group === WORKLOAD_GROUP && cluster.kthenaServesWorkloads)
  );
}
