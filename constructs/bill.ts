import type { IConstruct } from 'constructs';
import { ServingGroup } from './serving-group';
import { resourceCount } from './workload/pod-template';

/** GPUs and price at some number of replicas. */
export interface Amount {
  readonly gpus: number;
  /** In currency units per hour; undefined when a replica's price is not known. */
  readonly costPerHour: number | undefined;
}

/** What one serving group takes. */
export interface BillLine {
  /** Construct path. */
  readonly path: string;
  /** Name of the workload. */
  readonly workload: string;
  /** Class of the GPUs. */
  readonly accelerator: string;
  readonly min: Amount;
  readonly max: Amount;
}

/** GPUs and price per hour of everything under an app, at fewest and most replicas. */
export interface Bill {
  readonly lines: readonly BillLine[];
  readonly min: Amount;
  /** A price is undefined as soon as one line's is. */
  readonly max: Amount;
}

/** The bill of all serving groups under `root`, overrides of their pods included. */
export function billOf(root: IConstruct): Bill {
  const lines = root.node
    .findAll()
    .filter((construct): construct is ServingGroup => construct instanceof ServingGroup)
    .map(lineOf);
  return { lines, min: sum(lines.map(({ min }) => min)), max: sum(lines.map(({ max }) => max)) };
}

function lineOf(group: ServingGroup): BillLine {
  const gpus = resourceCount(group.template(), group.accelerator.resourceName) * group.podsPerReplica;
  const amount = (replicas: number): Amount => ({
    gpus: gpus * replicas,
    costPerHour: group.costPerReplicaHour === undefined ? undefined : round(group.costPerReplicaHour * replicas),
  });
  return {
    path: group.node.path,
    workload: group.name,
    accelerator: group.accelerator.name,
    min: amount(group.replicas.min),
    max: amount(group.replicas.max),
  };
}

function sum(amounts: readonly Amount[]): Amount {
  return amounts.reduce(
    (total, { gpus, costPerHour }) => ({
      gpus: total.gpus + gpus,
      costPerHour:
        total.costPerHour === undefined || costPerHour === undefined ? undefined : round(total.costPerHour + costPerHour),
    }),
    { gpus: 0, costPerHour: 0 },
  );
}

/** To cents, which a sum of decimals in binary would miss. */
function round(cost: number): number {
  return Math.round(cost * 100) / 100;
}
