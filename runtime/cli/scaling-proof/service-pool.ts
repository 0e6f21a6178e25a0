import { InvalidArgumentError } from 'commander';
import type { Pod } from '../../../src/api/pod';
import { ENGINES } from '../../../src/catalog/engines/engine-table';
import { KvasirError } from '../../../src/errors';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { sizeEngine } from '../../../src/expand/engine-sizing';
import { planEngine } from '../../../src/expand/plan-engine';
import type { BatchRoom } from '../../autoscaler/decide/capacity/rate-at-slo';
import type { PoolEngine } from '../../autoscaler/observe/pool-engine';
import { type EngineLimits, engineLimits } from '../../simulator/engine-limits';
import { enginePod } from '../replay/engine-pod';
import { knownAccelerator } from '../replay/fixed-fleet';

/** A pool as the command line names it. */
export interface PoolOptions {
  /** Accelerator class of the catalogue; also the pool's name in tables. */
  readonly accelerator: string;
  readonly min: number;
  readonly max: number;
}

/** Replicas of one kind that may be scaled. Prices and speeds are the catalogue's. */
export interface ServicePool extends PoolOptions {
  /** Name of its Deployment. */
  readonly name: string;
  readonly pricePerHour: number;
  /** From a pod's creation until it is ready. */
  readonly startMs: number;
  readonly plan: EnginePlan;
  readonly limits: EngineLimits;
  readonly engine: PoolEngine;
  readonly room: BatchRoom;
  /** Blocks of KV cache. */
  readonly numBlocks: number;
  /** A pod of it, as its template would make it. */
  readonly template: Pod;
}

export const NAMESPACE = 'default';
/** Label that all pods of the service have. */
export const SERVICE_LABELS: Readonly<Record<string, string>> = { app: 'simulated' };
export const PORT = 8000;

export interface ServicePoolOptions {
  readonly model: string;
  /** From a pod's creation until it has a node and its image, in milliseconds; then the weights are loaded. */
  readonly nodeStartMs: number;
}

/** KV blocks of 64 tokens, which attention kernels of all these classes take: with vLLM's 16 a day has four times as many to move. */
const ENGINE_ARGS = ['--block-size', '64'];

/** @throws KvasirError when the catalogue has no such accelerator or no price of it, or its memory does not hold the model. */
export function servicePool(options: PoolOptions, { model, nodeStartMs }: ServicePoolOptions): ServicePool {
  const accelerator = knownAccelerator(options.accelerator);
  if (accelerator.listPricePerHour === undefined) throw noPrice(options.accelerator);
  const name = accelerator.name.toLowerCase();
  const labels = { ...SERVICE_LABELS, pool: name };
  const template = enginePod({ name, namespace: NAMESPACE, labels, model, accelerator, engineArgs: ENGINE_ARGS });
  const plan = planEngine(template, { modelServers: [], modelRoutes: [] })!;
  const { stepTime, kvCapacityTokens, gpus, loadTimeMs } = sizeEngine(plan);
  const limits = engineLimits(plan);
  const numBlocks = Math.floor(kvCapacityTokens / limits.blockSize);
  if (numBlocks < 2) throw noKvCache(options.accelerator, model);
  const room = { maxSequences: limits.maxNumSeqs, kvTokens: kvCapacityTokens };
  return {
    ...options,
    accelerator: accelerator.name,
    name,
    pricePerHour: accelerator.listPricePerHour * gpus,
    startMs: nodeStartMs + loadTimeMs,
    plan,
    limits,
    engine: { engine: ENGINES.vllm, port: PORT, revision: '', stepTime, ...room, ranks: 1 },
    room,
    numBlocks,
    template,
  };
}

/** Reads `CLASS:MIN-MAX`, several with commas. @throws InvalidArgumentError, which commander prints with the flag's name. */
export function parsePools(text: string): readonly PoolOptions[] {
  const pools = text.split(',').map((part) => {
    const match = /^\s*([^:\s]+):(\d+)-(\d+)\s*$/.exec(part);
    const [min, max] = [Number(match?.[2]), Number(match?.[3])];
    if (match === null || !(min <= max && max >= 1 && max <= 100)) {
      throw wrongPools(`${JSON.stringify(part)} is no accelerator class with its fewest and most replicas`);
    }
    return { accelerator: match[1]!, min, max };
  });
  const twice = pools.find(({ accelerator }, i) => pools.findIndex((other) => other.accelerator === accelerator) < i);
  if (twice !== undefined) throw wrongPools(`${twice.accelerator} is there twice`);
  if (pools.every(({ min }) => min === 0)) throw wrongPools('no pool keeps a replica');
  return pools;
}

function wrongPools(message: string): InvalidArgumentError {
  return new InvalidArgumentError(`${message}; give classes with replicas, one of them from 1: A100-SXM-40GB:0-3,L40S-48GB:1-5`);
}

function noPrice(accelerator: string): KvasirError {
  return new KvasirError({
    code: 'simulate/unpriced-accelerator',
    field: '--pools',
    message: `the catalogue has no list price of ${accelerator}`,
    remedy: 'compare cost on a class that has one, such as L40S-48GB',
  });
}

function noKvCache(accelerator: string, model: string): KvasirError {
  return new KvasirError({
    code: 'replay/no-kv-cache',
    field: '--pools',
    message: `${model} leaves no room for a KV cache on ${accelerator}`,
    remedy: 'give a larger class',
  });
}
