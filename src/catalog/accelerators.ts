/** Node label and value by which an accelerator's nodes are found. */
export interface NodeLabel {
  readonly key: string;
  readonly value: string;
}

/** Facts about one class of accelerator. */
export interface Accelerator {
  /** Unique name, such as `H100-SXM-80GB`. */
  readonly name: string;
  readonly vendor: 'NVIDIA' | 'AMD' | 'Huawei';
  /** Memory that the driver shows, in GiB. */
  readonly memoryGiB: number;
  /** Peak memory bandwidth in GB/s (10⁹). */
  readonly memoryBandwidthGBps: number;
  /** Peak dense 16-bit matrix throughput in TFLOP/s, without sparsity. */
  readonly bf16Tflops: number;
  /** Peak dense 8-bit floating-point throughput in TFLOP/s; undefined where the hardware has no FP8. */
  readonly fp8Tflops?: number;
  /** How GPUs of one node reach each other, with both directions' bandwidth per GPU in GB/s. */
  readonly interconnect: { readonly kind: 'NVLink' | 'Infinity Fabric' | 'HCCS' | 'PCIe'; readonly bandwidthGBps: number };
  /** Extended resource that its device plugin counts. */
  readonly resourceName: string;
  /** Labels that the vendor's feature discovery sets on its nodes; the first is the one that manifests select on. */
  readonly nodeLabels: readonly [NodeLabel, ...NodeLabel[]];
  /** On-demand list price of one, in USD per hour, from `priceSource`; a default for bills, never a quote. */
  readonly listPricePerHour?: number;
  readonly priceSource?: string;
  /** Where memory, bandwidth and FLOP/s come from. */
  readonly source: string;
}

const NVIDIA_PRODUCT = 'nvidia.com/gpu.product';
const AMD_PRODUCT = 'amd.com/gpu.product-name';
const ASCEND_CHIP = 'node.kubernetes.io/npu.chip.name';

/** Resources that count whole accelerators, catalogue or not. `huawei.com/ascend-1980` is the Ascend 910 of Huawei's own cloud. */
export const ACCELERATOR_RESOURCES = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'huawei.com/Ascend910',
  'huawei.com/ascend-1980',
  'habana.ai/gaudi',
] as const;

type NvidiaRow = readonly [
  name: string,
  product: string,
  memoryMiB: number,
  memoryBandwidthGBps: number,
  bf16Tflops: number,
  fp8Tflops: number | undefined,
  interconnect: Accelerator['interconnect'],
  source: string,
  price?: readonly [perHour: number, source: string],
];

const nvlink = (bandwidthGBps: number) => ({ kind: 'NVLink', bandwidthGBps }) as const;
const pcie = (bandwidthGBps: number) => ({ kind: 'PCIe', bandwidthGBps }) as const;
/** On-demand Linux price in us-east-1 as listed in late 2025, divided by the instance's GPUs. */
const ec2 = (instance: string, perHour: number, gpus: number) =>
  [
    Math.round((perHour / gpus) * 100) / 100,
    `EC2 ${instance} on demand, us-east-1, ${perHour} USD/h for ${gpus} GPU(s)`,
  ] as const;

/**
 * Product is the value that GPU feature discovery writes (the driver's product name with dashes); memory is what `nvidia-smi` shows.
 * Datasheets that state throughput with 2:4 sparsity were halved.
 */
const NVIDIA: readonly NvidiaRow[] = [
  ['GB200-186GB', 'NVIDIA-GB200', 189_471, 8000, 2500, 5000, nvlink(1800), 'NVIDIA GB200 NVL72 datasheet, per GPU'],
  [
    'B200-180GB',
    'NVIDIA-B200',
    183_359,
    8000,
    2250,
    4500,
    nvlink(1800),
    'NVIDIA DGX B200 datasheet, per GPU',
    ec2('p6-b200.48xlarge', 113.93, 8),
  ],
  [
    'H200-141GB',
    'NVIDIA-H200',
    143_771,
    4800,
    989.5,
    1979,
    nvlink(900),
    'NVIDIA H200 SXM datasheet',
    ec2('p5en.48xlarge', 63.3, 8),
  ],
  [
    'H100-SXM-80GB',
    'NVIDIA-H100-80GB-HBM3',
    81_559,
    3350,
    989.5,
    1979,
    nvlink(900),
    'NVIDIA H100 SXM datasheet',
    ec2('p5.48xlarge', 55.04, 8),
  ],
  ['H100-NVL-94GB', 'NVIDIA-H100-NVL', 95_830, 3900, 835.5, 1671, nvlink(600), 'NVIDIA H100 NVL datasheet'],
  ['H100-PCIe-80GB', 'NVIDIA-H100-PCIe', 81_559, 2039, 756.5, 1513, nvlink(600), 'NVIDIA H100 PCIe product brief'],
  [
    'A100-SXM-80GB',
    'NVIDIA-A100-SXM4-80GB',
    81_920,
    2039,
    312,
    undefined,
    nvlink(600),
    'NVIDIA A100 datasheet',
    ec2('p4de.24xlarge', 27.45, 8),
  ],
  [
    'A100-SXM-40GB',
    'NVIDIA-A100-SXM4-40GB',
    40_960,
    1555,
    312,
    undefined,
    nvlink(600),
    'NVIDIA A100 datasheet',
    ec2('p4d.24xlarge', 21.96, 8),
  ],
  ['A100-PCIe-80GB', 'NVIDIA-A100-80GB-PCIe', 81_920, 1935, 312, undefined, nvlink(600), 'NVIDIA A100 datasheet'],
  ['L40S-48GB', 'NVIDIA-L40S', 46_068, 864, 362, 733, pcie(64), 'NVIDIA L40S datasheet', ec2('g6e.xlarge', 1.86, 1)],
  ['L4-24GB', 'NVIDIA-L4', 23_034, 300, 121, 242.5, pcie(64), 'NVIDIA L4 datasheet', ec2('g6.xlarge', 0.8, 1)],
  ['RTX6000-Ada-48GB', 'NVIDIA-RTX-6000-Ada-Generation', 49_140, 960, 364, 728.5, pcie(64), 'NVIDIA RTX 6000 Ada datasheet'],
  ['A10-24GB', 'NVIDIA-A10', 23_028, 600, 125, undefined, pcie(64), 'NVIDIA A10 datasheet'],
  // Turing computes 16-bit matrices in FP16 only.
  ['T4-16GB', 'Tesla-T4', 15_360, 320, 65, undefined, pcie(32), 'NVIDIA T4 datasheet', ec2('g4dn.xlarge', 0.53, 1)],
];

const OTHERS: readonly Accelerator[] = [
  {
    name: 'MI300X-192GB',
    vendor: 'AMD',
    memoryGiB: 192,
    memoryBandwidthGBps: 5300,
    bf16Tflops: 1307.4,
    fp8Tflops: 2614.9,
    interconnect: { kind: 'Infinity Fabric', bandwidthGBps: 896 },
    resourceName: 'amd.com/gpu',
    nodeLabels: [
      { key: AMD_PRODUCT, value: 'AMD_Instinct_MI300X_OAM' },
      { key: 'amd.com/gpu.device-id', value: '74a1' },
    ],
    source: 'AMD Instinct MI300X datasheet; labels as the AMD node labeller documents them',
  },
  {
    name: 'MI325X-256GB',
    vendor: 'AMD',
    memoryGiB: 256,
    memoryBandwidthGBps: 6000,
    bf16Tflops: 1307.4,
    fp8Tflops: 2614.9,
    interconnect: { kind: 'Infinity Fabric', bandwidthGBps: 896 },
    resourceName: 'amd.com/gpu',
    nodeLabels: [
      { key: AMD_PRODUCT, value: 'AMD_Instinct_MI325_OAM' },
      { key: 'amd.com/gpu.device-id', value: '74a5' },
    ],
    source: 'AMD Instinct MI325X datasheet',
  },
  {
    name: 'Ascend-910B-64GB',
    vendor: 'Huawei',
    memoryGiB: 64,
    memoryBandwidthGBps: 1600,
    bf16Tflops: 313,
    interconnect: { kind: 'HCCS', bandwidthGBps: 392 },
    resourceName: 'huawei.com/Ascend910',
    nodeLabels: [
      { key: ASCEND_CHIP, value: '910B3' },
      { key: 'accelerator-type', value: 'module-910b-8' },
    ],
    source: 'Huawei Atlas 800T A2 (910B3) product pages; labels from the MindCluster node label reference',
  },
];

/** All accelerators of the catalogue, fastest of each vendor first. */
export const ACCELERATORS: readonly Accelerator[] = [
  ...NVIDIA.map(
    ([name, product, memoryMiB, memoryBandwidthGBps, bf16Tflops, fp8Tflops, interconnect, source, price]): Accelerator => ({
      name,
      vendor: 'NVIDIA',
      memoryGiB: memoryMiB / 1024,
      memoryBandwidthGBps,
      bf16Tflops,
      fp8Tflops,
      interconnect,
      resourceName: 'nvidia.com/gpu',
      nodeLabels: [{ key: NVIDIA_PRODUCT, value: product }],
      listPricePerHour: price?.[0],
      priceSource: price?.[1],
      source,
    }),
  ),
  ...OTHERS,
];

/** Assumed where manifests name no accelerator: the class that most published inference figures are for. */
export const DEFAULT_ACCELERATOR: Accelerator = ACCELERATORS.find(({ name }) => name === 'H100-SXM-80GB')!;

const byName = new Map(ACCELERATORS.map((accelerator) => [accelerator.name.toLowerCase(), accelerator]));
const byLabel = new Map(
  ACCELERATORS.flatMap((accelerator) =>
    accelerator.nodeLabels.map(({ key, value }) => [`${key}=${value}`, accelerator] as const),
  ),
);

/** @returns the accelerator of that catalogue name, in any case; undefined when the catalogue has none. */
export function acceleratorNamed(name: string): Accelerator | undefined {
  return byName.get(name.toLowerCase());
}

/** @returns the accelerator that a pod's node selector asks for, by the labels that vendors' feature discovery sets. */
export function acceleratorOfNodeSelector(nodeSelector: Readonly<Record<string, string>> | undefined): Accelerator | undefined {
  for (const [key, value] of Object.entries(nodeSelector ?? {})) {
    // A time-sliced GPU carries its product with this suffix; a MIG slice is another device and stays unknown.
    const found = byLabel.get(`${key}=${value.replace(/-SHARED$/, '')}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
