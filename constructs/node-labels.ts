import type { Accelerator } from './accelerator';

/**
 * How nodes say which GPU they have.
 *
 * @example
 * Cluster.of({ nodeLabels: NodeLabels.of({ 'H100-SXM-80GB': { 'cloud.example.com/gpu': 'h100' } }) });
 */
export class NodeLabels {
  /** The label that the vendor's feature discovery sets, as the accelerator names it (`nvidia.com/gpu.product`). */
  static nvidia(): NodeLabels {
    return new NodeLabels((accelerator) => accelerator.nodeSelector);
  }

  /** Own labels by accelerator name; an accelerator that is not listed keeps its vendor's label. */
  static of(labels: Readonly<Record<string, Readonly<Record<string, string>>>>): NodeLabels {
    return new NodeLabels((accelerator) => labels[accelerator.name] ?? accelerator.nodeSelector);
  }

  /** Nodes are not labelled; pods go wherever the GPU resource is. */
  static none(): NodeLabels {
    return new NodeLabels(() => ({}));
  }

  private constructor(private readonly select: (accelerator: Accelerator) => Readonly<Record<string, string>>) {}

  /** The node selector of pods that need `accelerator`. */
  selectorFor(accelerator: Accelerator): Readonly<Record<string, string>> {
    return this.select(accelerator);
  }
}
