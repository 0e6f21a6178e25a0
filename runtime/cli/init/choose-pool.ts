import { ACCELERATORS, gpusNeeded, kvCapacityTokens, type ModelShape, modelShapeOrDefault } from '../../../src/catalog';

/** What a first pool of a model is made of. */
export interface ChosenPool {
  /** Name of the accelerator in the catalogue. */
  readonly accelerator: string;
  readonly gpus: number;
  /** Longest request that surely fits, in tokens. */
  readonly maxModelLen: number;
  /** Whether the catalogue knows the model; else sizes are those of another one. */
  readonly isModelKnown: boolean;
}

/** GPUs of the largest nodes that clouds rent. */
const MOST_GPUS = 8;
/** Enough for most chats, and small enough that a cache holds several of them. */
const COMMON_CONTEXT_TOKENS = 32_768;

/** The pool for a model by its name; of a model that the catalogue does not know, sizes are those of a similar or common one. */
export function choosePool(model: string): ChosenPool | undefined {
  const { shape, isExact } = modelShapeOrDefault(model);
  const pool = poolFor(shape);
  return pool === undefined ? undefined : { ...pool, isModelKnown: isExact };
}

/**
 * The fewest GPUs of one node on which a model fits with room for its caches, of those the cheapest by list price: a model that need not
 * be split should not be. Undefined when no node is large enough.
 */
export function poolFor(shape: ModelShape): Omit<ChosenPool, 'isModelKnown'> | undefined {
  const [cheapest] = ACCELERATORS.flatMap((accelerator) => {
    const { listPricePerHour, fp8Tflops } = accelerator;
    if (listPricePerHour === undefined || (isEightBit(shape) && fp8Tflops === undefined)) return [];
    const gpus = gpusNeeded(shape, accelerator);
    return gpus > MOST_GPUS ? [] : [{ accelerator, gpus, price: listPricePerHour * gpus }];
  }).sort((a, b) => a.gpus - b.gpus || a.price - b.price);
  if (cheapest === undefined) return undefined;
  const { accelerator, gpus } = cheapest;
  const room = kvCapacityTokens(shape, accelerator, gpus);
  // A whole number of blocks, and at least two requests at once.
  const most = Math.floor(Math.min(COMMON_CONTEXT_TOKENS, shape.maxContextTokens, room / 2) / 1024) * 1024;
  return { accelerator: accelerator.name, gpus, maxModelLen: Math.max(1024, most) };
}

function isEightBit({ weightBytesPerParameter }: ModelShape): boolean {
  return weightBytesPerParameter >= 1 && weightBytesPerParameter < 2;
}
