import { describeObject } from '../api/meta';
import type { Pod } from '../api/pod';
import { costPerHourOf } from '../expand/cost';
import { acceleratorOf, gpusOf } from '../expand/pod-accelerators';
import { Annotations, Labels } from '../labels';
import { type CheckedObject, ObjectSet } from './object-set';
import { type PlannedWorkload, planWorkloads } from './planned-workloads';

/** GPUs and price at some number of replicas. */
export interface Amount {
  readonly gpus: number;
  /** In currency units per hour; undefined when a replica's price is not known. */
  readonly costPerHour: number | undefined;
}

/** What one workload takes. */
export interface BillLine {
  /** Where it is defined: a construct path, or `Kind namespace/name`. */
  readonly path: string;
  /** File of the workload, where it was given with one. */
  readonly file?: string;
  /** Model that it serves: the label `kvasir.dev/model`, else the workload's own name. */
  readonly model: string;
  /** Name of the workload. */
  readonly workload: string;
  /** Class of the GPUs. */
  readonly accelerator: string;
  readonly min: Amount;
  readonly max: Amount;
}

/** What one model takes over all of its workloads. */
export interface ModelBill {
  readonly model: string;
  readonly min: Amount;
  readonly max: Amount;
}

/** GPUs and price per hour at fewest and most replicas. A price is undefined as soon as one line's is. */
export interface Bill {
  readonly lines: readonly BillLine[];
  /** By model, in the order of the lines. */
  readonly models: readonly ModelBill[];
  readonly min: Amount;
  readonly max: Amount;
}

/**
 * The bill of all workloads with GPUs among `checked`: replicas from the policies that scale them, else their own; prices from the
 * annotation `kvasir.dev/cost-per-replica-hour`, else the catalogue.
 */
export function billOfObjects(checked: readonly CheckedObject[]): Bill {
  const set = new ObjectSet(checked);
  return toBill(
    planWorkloads(set).flatMap((workload) => {
      const file = set.fileOf(workload.object);
      return lineOf(workload).map((line) => (file === undefined ? line : { ...line, file }));
    }),
  );
}

/** Sums up lines. */
function toBill(lines: readonly BillLine[]): Bill {
  const models = [...new Set(lines.map(({ model }) => model))].map((model) => {
    const own = lines.filter((line) => line.model === model);
    return { model, min: sum(own.map(({ min }) => min)), max: sum(own.map(({ max }) => max)) };
  });
  return { lines, models, min: sum(lines.map(({ min }) => min)), max: sum(lines.map(({ max }) => max)) };
}

/** `one` replica's amount for `replicas` of them. */
function times(one: Amount, replicas: number): Amount {
  return {
    gpus: one.gpus * replicas,
    costPerHour: one.costPerHour === undefined ? undefined : toCents(one.costPerHour * replicas),
  };
}

function lineOf(workload: PlannedWorkload): BillLine[] {
  const { object, pods, instances } = workload;
  if (pods.every((pod) => gpusOf(pod) === 0)) return [];
  const amount = (bound: 'min' | 'max'): Amount => times(replicaOf(workload, bound), workload.replicas[bound]);
  const labels = { ...object.metadata.labels, ...pods[0]?.metadata.labels };
  const classes = new Set(instances.flatMap((instance) => instance.pods.filter((pod) => gpusOf(pod) > 0).map(classOf)));
  return [
    {
      path: describeObject(object),
      model: labels[Labels.model] ?? object.metadata.name,
      workload: object.metadata.name,
      accelerator: [...classes].join(', '),
      min: amount('min'),
      max: amount('max'),
    },
  ];
}

/** One replica, its roles at their bounds where a policy scales them. */
function replicaOf({ instances, roleReplicas }: PlannedWorkload, bound: 'min' | 'max'): Amount {
  const roles = [...new Set(instances.map(({ role }) => role))];
  return sum(
    roles.map((role) => {
      const own = instances.filter((instance) => instance.role === role).map((instance) => amountOf(instance.pods));
      const scaled = roleReplicas.get(role)?.[bound];
      return scaled === undefined ? sum(own) : times(own[0]!, scaled);
    }),
  );
}

const NOTHING: Amount = { gpus: 0, costPerHour: 0 };

const classOf = (pod: Pod): string =>
  pod.metadata.annotations?.[Annotations.accelerator] ?? acceleratorOf(pod)?.name ?? 'unknown';

/** GPUs and price of pods that work together. An annotated price is the replica's and stands on each of them. */
function amountOf(pods: readonly Pod[]): Amount {
  const [first] = pods;
  const isAnnotated = first?.metadata.annotations?.[Annotations.costPerReplicaHour] !== undefined;
  const withGpus = pods.filter((pod) => gpusOf(pod) > 0);
  const prices = isAnnotated ? [costPerHourOf(first)] : withGpus.map(costPerHourOf);
  return {
    gpus: pods.reduce((total, pod) => total + gpusOf(pod), 0),
    costPerHour: prices.reduce<number | undefined>(
      (total, price) => (total === undefined || price === undefined ? undefined : toCents(total + price)),
      0,
    ),
  };
}

function sum(amounts: readonly Amount[]): Amount {
  return amounts.reduce(
    (total, { gpus, costPerHour }) => ({
      gpus: total.gpus + gpus,
      costPerHour:
        total.costPerHour === undefined || costPerHour === undefined ? undefined : toCents(total.costPerHour + costPerHour),
    }),
    NOTHING,
  );
}

/** To cents, which a sum of decimals in binary would miss. */
function toCents(cost: number): number {
  return Math.round(cost * 100) / 100;
}
