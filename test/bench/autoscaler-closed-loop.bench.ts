/**
 * Scalings under a constant rate of arrivals: Poisson arrivals through the router's scheduling, simulated engines and the autoscaler, three
 * hours of virtual time for each kind of metric and seed.
 * Fails when in an hour after the first one more than one scaling happens, or a request finds no pod.
 *
 * Run: npx tsx test/bench/autoscaler-closed-loop.bench.ts [kind…]
 */
import { ClosedLoop, LOOP_METRICS, type LoopKind } from '../helpers/closed-loop';
import { runBench } from './rig/run-bench';

const HOURS = 3;
const WARM_UP_HOURS = 1;
const SEEDS = [1, 2, 3];
const MOST_PER_HOUR = 1;

runBench(async () => {
  const asked = process.argv.slice(2);
  const kinds = (Object.keys(LOOP_METRICS) as LoopKind[]).filter((kind) => asked.length === 0 || asked.includes(kind));
  let isGood = kinds.length > 0;
  for (const kind of kinds) {
    for (const seed of SEEDS) {
      const loop = await ClosedLoop.open({ ...LOOP_METRICS[kind], seed });
      await loop.run(HOURS);
      const perHour = Array.from({ length: HOURS }, (_, hour) => loop.within(hour, hour + 1));
      const isSteady = perHour.slice(WARM_UP_HOURS).every((count) => count <= MOST_PER_HOUR) && loop.failures === 0;
      const counts = perHour.join(' ');
      process.stdout.write(
        `${kind.padEnd(8)} seed ${seed}   scalings per hour ${counts}   replicas ${loop.replicas}   not served ${loop.failures}   ${isSteady ? 'good' : 'FAILED'}\n`,
      );
      isGood &&= isSteady;
      await loop.close();
    }
  }
  return isGood;
});
