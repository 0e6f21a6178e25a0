/** Required before a program: at its end, says on stdout how late its event loop was from SIGTERM on. */
import { writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface ProbedDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Between Node's samples of the delay, which are that late when nothing holds the loop up. */
export const SAMPLE_MS = 10;

const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });

process.once('SIGTERM', () => delay.enable());
process.once('exit', () => {
  if (delay.count === 0) return;
  const ms = (percentile: number): number => Math.max(0, delay.percentile(percentile) / 1e6 - SAMPLE_MS);
  writeSync(1, `LOOP ${JSON.stringify({ p50Ms: ms(50), p99Ms: ms(99) } satisfies ProbedDelay)}\n`);
});
