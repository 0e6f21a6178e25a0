import type { RunningProxy } from './bench-nginx';
import { cpuSeconds } from './bench-processes';

/** What a proxy used in one round. */
export interface Round {
  readonly cpuMicros: number;
  readonly perSecond: number;
}

/** Medians of nginx's and the router's rounds, which took turns. */
export interface Compared {
  readonly nginx: Round;
  readonly router: Round;
  /** CPU time of the router over nginx's. */
  readonly ratio: number;
}

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** What happens in a round. CPU time counts during `run` only. */
export interface RoundLoad {
  before?(proxy: RunningProxy): Promise<void>;
  /** @returns how many units (requests, chunks) came through. */
  run(proxy: RunningProxy): Promise<number>;
  after?(proxy: RunningProxy): Promise<void>;
}

/** Rounds of load by turns, so that a busy machine changes both alike. */
export async function compareCpu(
  proxies: { readonly nginx: RunningProxy; readonly router: RunningProxy },
  rounds: number,
  load: RoundLoad,
): Promise<Compared> {
  const results = { nginx: [] as Round[], router: [] as Round[] };
  for (let index = 0; index < rounds; index++) {
    for (const name of ['nginx', 'router'] as const) {
      const proxy = proxies[name];
      await load.before?.(proxy);
      const started = performance.now();
      const before = cpuSeconds(proxy.pid);
      const count = await load.run(proxy);
      const cpuMicros = ((cpuSeconds(proxy.pid) - before) / count) * 1e6;
      results[name].push({ cpuMicros, perSecond: (1000 * count) / (performance.now() - started) });
      await load.after?.(proxy);
    }
  }
  const middle = (all: readonly Round[]): Round => ({
    cpuMicros: median(all.map(({ cpuMicros }) => cpuMicros)),
    perSecond: median(all.map(({ perSecond }) => perSecond)),
  });
  const [nginx, router] = [middle(results.nginx), middle(results.router)];
  return { nginx, router, ratio: router.cpuMicros / nginx.cpuMicros };
}

/** One row: both figures, their ratio, and what it may be. @param most undefined: nothing is asked. */
export function comparedLine(what: string, { nginx, router, ratio }: Compared, most: number | undefined): string {
  const figures = ({ cpuMicros, perSecond }: Round): string =>
    `${cpuMicros.toFixed(1).padStart(7)} µs ${perSecond.toFixed(0).padStart(6)}/s`;
  const bound = most === undefined ? '' : ` (at most ${most})${ratio > most ? '  MISSED' : ''}`;
  return `${what.padEnd(24)} nginx ${figures(nginx)}   router ${figures(router)}   ratio ${ratio.toFixed(2)}${bound}`;
}
