import { Chart } from 'cdk8s';
import type { IConstruct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';
import type { NetworkPeer } from '../kube/network-policy';
import { Autoscaler } from './autoscaler';
import { type EngineDoors, engineDoors, metricPorts } from './engine-doors';
import { constructsByPath, enginesUnder, type IsolatedEngines, objectsUnder } from './isolated-engines';
import { podsIn } from './network-flows';
import { Redis } from './redis';
import { Router } from './router';
import { WorkloadIndex } from './workload-index';

/** A part of the platform in the isolated namespace. */
export type Part = Router | Autoscaler | Redis;

/** The pods of a ModelServer with all of their ports. */
export type OpenEngines = IsolatedEngines & EngineDoors & { readonly metricPorts: readonly number[] };

/** Everybody in an app whom policies name, and every object of it. */
export interface Peers {
  readonly objects: readonly KubeObject[];
  readonly workloads: WorkloadIndex;
  readonly routers: readonly NetworkPeer[];
  readonly autoscalers: readonly NetworkPeer[];
  readonly redis: readonly NetworkPeer[];
  /** By namespace and name. */
  readonly engines: ReadonlyMap<string, OpenEngines>;
}

/** Finds them all anew: a walk over every object. */
export function peersUnder(root: IConstruct): Peers {
  const objects = objectsUnder(root);
  const workloads = new WorkloadIndex(objects);
  const scraped = metricPorts(objects);
  return {
    objects,
    workloads,
    routers: partPeers(constructsUnder(root, Router)),
    autoscalers: partPeers(constructsUnder(root, Autoscaler)),
    redis: partPeers(constructsUnder(root, Redis)),
    engines: new Map(
      enginesUnder(root).map((each) => {
        const doors = engineDoors(workloads.of(each).map(({ object }) => object));
        const others = [each.port, ...doors.agentPorts];
        const opened = {
          ...each,
          ...doors,
          agentPorts: doors.agentPorts.filter((port) => port !== each.port),
          metricPorts: (scraped.get(each.namespace) ?? []).filter((port) => !others.includes(port)),
        };
        return [engineKey(each), opened] as const;
      }),
    ),
  };
}

export const engineKey = ({ namespace, name }: Pick<IsolatedEngines, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** The constructs of one class, in an order that does not depend on which was created first. */
export function constructsUnder<T extends IConstruct>(
  root: IConstruct,
  type: abstract new (...args: never[]) => T,
): readonly T[] {
  return constructsByPath(root).filter((construct): construct is T => construct instanceof type);
}

/** Namespace of the chart that `construct` is in. */
export function namespaceOf(construct: IConstruct): string {
  return Chart.of(construct).namespace ?? 'default';
}

function partPeers(parts: readonly Part[]): readonly NetworkPeer[] {
  return parts.map((part) => podsIn(namespaceOf(part), { app: part.name }));
}
