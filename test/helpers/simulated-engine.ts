import { seededRandom } from '../../runtime/lib/random';
import { wallClock } from '../../runtime/lib/wall-clock';
import { type RunningEngine, type StartEngineOptions, startEngine } from '../../runtime/simulator/index';
import type { EnginePlan } from '../../src/expand/engine-plan';

export const PLAN: EnginePlan = {
  engine: 'vllm',
  version: '0.32.0',
  model: '/models/tiny',
  servedModelNames: ['tiny'],
  adapters: {},
  port: 8000,
  maxModelLen: 1024,
  maxNumSeqs: 4,
  blockSize: 16,
  tensorParallelSize: 1,
  gpus: 0,
  reportsCachedTokens: false,
  enablePrefixCaching: true,
  maxLoras: 0,
  shutdownTimeoutSeconds: 0,
};

/** Steps that take no time: answers come at once. */
export const NO_TIME = { baseMs: 0, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };

/** An engine on a free port of the loopback. */
export function startSimulated(
  plan: Partial<EnginePlan> = {},
  options: Partial<StartEngineOptions> = {},
): Promise<RunningEngine> {
  return startEngine({
    plan: { ...PLAN, ...plan },
    host: '127.0.0.1',
    port: 0,
    clock: wallClock(),
    random: seededRandom(1),
    stepTime: NO_TIME,
    numBlocks: 128,
    ...options,
  });
}
