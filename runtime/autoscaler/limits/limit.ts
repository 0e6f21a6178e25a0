import type { KubeObject } from '../../../src/api/meta';
import type { BudgetConfig } from '../../../src/config/budget-config';
import { parseQuantity } from '../../../src/quantity';
import type { Footprint } from './footprint';

/** Something that replicas of several policies share, and how much of it is taken. */
export interface Limit {
  /** `budget prod` or `ResourceQuota llm/gpus`. */
  readonly name: string;
  readonly of: 'gpus' | 'costPerHour';
  readonly namespace?: string;
  readonly accelerator?: string;
  /** Undefined: it cannot be read, so that nothing may grow. */
  readonly most: number | undefined;
  /** Taken already, by what the limit itself knows; what is counted from pods is taken when that is more. */
  readonly used?: number;
}

/** The limits of a budget of the configuration. */
export function limitsOfBudget({ name, namespace, accelerator, maxGpus, maxCostPerHour }: BudgetConfig): readonly Limit[] {
  const common = {
    name: `budget ${name}`,
    ...(namespace !== undefined && { namespace }),
    ...(accelerator !== undefined && { accelerator }),
  };
  return [
    ...(maxGpus === undefined ? [] : [{ ...common, of: 'gpus' as const, most: maxGpus }]),
    ...(maxCostPerHour === undefined ? [] : [{ ...common, of: 'costPerHour' as const, most: maxCostPerHour }]),
  ];
}

type Quota = KubeObject & {
  readonly spec?: { readonly hard?: Readonly<Record<string, string | number>> };
  readonly status?: { readonly used?: Readonly<Record<string, string | number>> };
};

/** What a ResourceQuota says of accelerators: `requests.<vendor>/<resource>` of extended resources, and no more. */
export function limitsOfQuota(object: KubeObject): readonly Limit[] {
  const { metadata, spec, status } = object as Quota;
  const namespace = metadata.namespace ?? 'default';
  return Object.entries(spec?.hard ?? {}).flatMap(([key, hard]): Limit[] => {
    if (!/^requests\.[^/]+\/(?:\w*gpu|npu|tpu|accelerator|gaudi|ascend\S*)$/i.test(key)) return [];
    const used = parseQuantity(status?.used?.[key] ?? 0);
    const name = `ResourceQuota ${namespace}/${metadata.name}`;
    return [{ name, of: 'gpus', namespace, most: parseQuantity(hard), ...(used !== undefined && { used }) }];
  });
}

/** What `footprint` takes of `limit`; undefined: it cannot be told. */
export function shareOf(limit: Limit, footprint: Footprint): number | undefined {
  if (limit.namespace !== undefined && limit.namespace !== footprint.namespace) return 0;
  if (limit.accelerator !== undefined && limit.accelerator !== footprint.accelerator) return 0;
  return limit.of === 'gpus' ? footprint.gpus : footprint.costPerHour;
}

/** What one replica takes of `limit`, all its pods together; undefined: it cannot be told. */
export function shareOfReplica(limit: Limit, footprints: readonly Footprint[]): number | undefined {
  return footprints.reduce<number | undefined>((sum, each) => {
    const share = shareOf(limit, each);
    return sum === undefined || share === undefined ? undefined : sum + share;
  }, 0);
}
