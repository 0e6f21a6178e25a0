import type { Pod } from '../../../src/api/pod';
import type { Accelerator } from '../../../src/catalog/accelerators';
import { modelShapeOrDefault } from '../../../src/catalog/models';
import { gpusNeeded } from '../../../src/catalog/step-time';
import { Annotations } from '../../../src/labels';

export interface EnginePodOptions {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of a model shape of the catalogue. */
  readonly model: string;
  readonly accelerator: Accelerator;
  /** Accelerators, tensor-parallel. @default the fewest that hold the weights */
  readonly gpus?: number;
  /** Further flags of vLLM. @default none */
  readonly engineArgs?: readonly string[];
}

/** A ready pod that runs vLLM, from which everything is planned that a real pod would be planned from. */
export function enginePod({ name, namespace, labels, model, accelerator, engineArgs = [], ...options }: EnginePodOptions): Pod {
  const { gpus = gpusNeeded(modelShapeOrDefault(model).shape, accelerator) } = options;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: name, labels, annotations: { [Annotations.accelerator]: accelerator.name } },
    spec: {
      containers: [
        {
          name: 'engine',
          image: 'vllm/vllm-openai:latest',
          args: ['--model', model, ...(gpus > 1 ? ['--tensor-parallel-size', String(gpus)] : []), ...engineArgs],
          resources: { limits: { [accelerator.resourceName]: gpus } },
        },
      ],
    },
    status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}
