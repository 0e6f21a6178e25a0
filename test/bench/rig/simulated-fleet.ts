/**
 * Simulated engines of one model in wall time, in one process: `simulated-fleet.ts PLANS`, where PLANS is JSON of `FleetSpec`. Engine i
 * listens at address i + 2 of the loopback, all on one port, as pods do. Prints `PORT n`.
 */
import { seededRandom } from '../../../runtime/lib/random';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { startEngine } from '../../../runtime/simulator/index';
import type { StepTime } from '../../../src/catalog/step-time';
import type { EnginePlan } from '../../../src/expand/engine-plan';

/** What all engines of the fleet are. */
export interface FleetSpec {
  readonly replicas: number;
  readonly port: number;
  readonly plan: EnginePlan;
  readonly stepTime: StepTime;
  /** Blocks of KV cache of each. */
  readonly numBlocks: number;
}

/** Address of an engine of the fleet; 127.0.0.1 is left to proxies. */
export const addressOf = (index: number): string => `127.0.0.${index + 2}`;

async function main({ replicas, port, plan, stepTime, numBlocks }: FleetSpec): Promise<void> {
  const clock = wallClock();
  for (let index = 0; index < replicas; index++) {
    await startEngine({ plan, host: addressOf(index), port, clock, random: seededRandom(index + 1), stepTime, numBlocks });
  }
  process.stdout.write(`PORT ${port}\n`);
}

if (require.main === module) void main(JSON.parse(process.argv[2]!) as FleetSpec);
