import { type Accelerator as AcceleratorFacts, acceleratorNamed } from '../src/catalog/accelerators';

/** An accelerator that the catalogue does not have, or nodes that name it otherwise. */
export interface AcceleratorOptions {
  /** Class name, as bills and the preview show it. */
  readonly name: string;
  /** Extended resource of the device plugin, such as `amd.com/gpu`. */
  readonly resourceName: string;
  /** Labels of the nodes that have it. @default none */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Memory of one, in GiB. */
  readonly memoryGiB: number;
}

/**
 * A class of GPU: which resource a pod asks for, and on which nodes.
 *
 * @example
 * Accelerator.H100_SXM_80GB;
 * Accelerator.of({ name: 'MI210', resourceName: 'amd.com/gpu', memoryGiB: 64, nodeSelector: { 'amd.com/gpu.product-name': 'MI210' } });
 */
export class Accelerator {
  static readonly GB200_186GB = Accelerator.named('GB200-186GB');
  static readonly B200_180GB = Accelerator.named('B200-180GB');
  static readonly H200_141GB = Accelerator.named('H200-141GB');
  static readonly H100_SXM_80GB = Accelerator.named('H100-SXM-80GB');
  static readonly H100_NVL_94GB = Accelerator.named('H100-NVL-94GB');
  static readonly H100_PCIE_80GB = Accelerator.named('H100-PCIe-80GB');
  static readonly A100_SXM_80GB = Accelerator.named('A100-SXM-80GB');
  static readonly A100_SXM_40GB = Accelerator.named('A100-SXM-40GB');
  static readonly A100_PCIE_80GB = Accelerator.named('A100-PCIe-80GB');
  static readonly L40S_48GB = Accelerator.named('L40S-48GB');
  static readonly L4_24GB = Accelerator.named('L4-24GB');
  static readonly A10_24GB = Accelerator.named('A10-24GB');
  static readonly T4_16GB = Accelerator.named('T4-16GB');
  static readonly MI300X_192GB = Accelerator.named('MI300X-192GB');
  static readonly ASCEND_910B_64GB = Accelerator.named('Ascend-910B-64GB');

  /**
   * An accelerator of the catalogue by its name.
   *
   * @throws RangeError when the catalogue has none of that name; `Accelerator.of` takes any.
   */
  static named(name: string): Accelerator {
    const facts = acceleratorNamed(name);
    if (facts === undefined) throw new RangeError(`no accelerator ${name} in the catalogue; describe it with Accelerator.of`);
    const label = facts.nodeLabels[0];
    return new Accelerator(facts.name, facts.resourceName, { [label.key]: label.value }, facts.memoryGiB, facts);
  }

  /** Any accelerator: Ascend, AMD, a cloud's own labels. */
  static of(options: AcceleratorOptions): Accelerator {
    const { name, resourceName, nodeSelector = {}, memoryGiB } = options;
    return new Accelerator(name, resourceName, nodeSelector, memoryGiB, acceleratorNamed(name));
  }

  private constructor(
    readonly name: string,
    readonly resourceName: string,
    /** Labels that its vendor's plugin sets on nodes. */
    readonly nodeSelector: Readonly<Record<string, string>>,
    readonly memoryGiB: number,
    /** Its entry in the catalogue; undefined when there is none. */
    readonly facts: AcceleratorFacts | undefined,
  ) {}
}
