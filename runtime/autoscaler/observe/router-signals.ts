import type { Pod } from '../../../src/api/pod';
import type { Objects } from '../../cluster/objects';
import type { Workloads } from '../../cluster/workloads';
import type { MetricReading } from '../decide/observation';
import type { PolicyUnit } from '../policy';
import type { Histogram } from './metrics-page';
import type { Snapshot } from './page-archive';
import type { PodPage, PodPages } from './pod-pages';
import { HistogramError, merge, quantile, since } from './quantile';
import { serversOf } from './rest';
import { isOfModels, modelsOf, type Routers, readRouters, totalOf } from './router-pages';
import type { RouterSignal } from './router-signal';
import { podState } from './target-pods';

/** The families behind the signals, of Kvasir's router. */
const FAMILIES: Readonly<Record<RouterSignal, string>> = {
  queued: 'kthena_router_fairness_queue_size',
  shed: 'kvasir_router_queue_refusals_total',
  ttft: 'kvasir_router_time_to_first_token_seconds',
};

export const ROUTER_FAMILIES: ReadonlySet<string> = new Set(Object.values(FAMILIES));

type Page = Extract<PodPage, { kind: 'page' }>;

/**
 * Reads what all routers together tell of the models that a unit serves: requests that wait, requests per second that were refused, or a
 * percentile of the time to the first token in seconds. One router that does not answer makes it missing, since it may hold the queue.
 *
 * @param pods of the unit, each of which has the latency that is seen.
 */
export async function readRouterSignal(
  signal: RouterSignal,
  unit: PolicyUnit,
  pods: readonly Pod[],
  view: {
    readonly objects: Objects;
    readonly workloadPods: Workloads;
    readonly pages: PodPages;
    readonly routers: Routers;
    readonly percentile: number;
  },
): Promise<MetricReading> {
  const models = modelsOf(serversOf(unit, view), unit.target.namespace, view.objects);
  if (models.size === 0)
    return { kind: 'missing', reason: 'no ModelRoute leads to its pods, so that routers know no model of it' };
  const answers = (await readRouters(view, (pod) => podState(pod) === 'ready')).map(({ page }) => page);
  if (answers.length === 0)
    return { kind: 'missing', reason: `there is no ready router pod with the label app=${view.routers.app}` };
  const silent = answers.find((answer) => answer.kind === 'unreachable');
  if (silent !== undefined) return { kind: 'missing', reason: silent.reason };
  const pages = answers.flatMap((answer) => (answer.kind === 'page' ? [answer] : []));
  const family = FAMILIES[signal];
  switch (signal) {
    case 'queued':
      return { kind: 'external', value: sum(pages.map((page) => totalOf(page.page.get(family), models))) };
    case 'shed': {
      const rates = pages.map((page) => rate(page, family, models));
      const known = rates.flatMap((each) => each ?? []);
      if (known.length < rates.length) return { kind: 'missing', reason: `${family} has no window to compare with yet` };
      return { kind: 'external', value: sum(known) };
    }
    case 'ttft': {
      const value = latency(pages, family, models, view.percentile);
      const ready = pods.filter((pod) => podState(pod) === 'ready');
      if (value === undefined) return { kind: 'missing', reason: `${family} has no window to compare with yet` };
      return { kind: 'samples', values: ready.map(() => value) };
    }
  }
}

function rate(page: Page, family: string, models: ReadonlySet<string>): number | undefined {
  const then = before(page);
  if (then === undefined || page.atMs <= then.atMs) return undefined;
  const grown = totalOf(page.page.get(family), models) - totalOf(then.page.get(family), models);
  return (1000 * Math.max(0, grown)) / (page.atMs - then.atMs);
}

function latency(pages: readonly Page[], family: string, models: ReadonlySet<string>, percentile: number): number | undefined {
  const windows = pages.flatMap((page) => {
    const then = before(page);
    return then === undefined ? [] : [{ then, now: page }];
  });
  if (windows.length < pages.length) return undefined;
  try {
    const parts = windows.flatMap(({ then, now }) => {
      const earlier = histograms(then, family, models);
      return [...histograms(now, family, models)].map(([key, histogram]) => {
        const old = earlier.get(key);
        return old === undefined ? histogram : since(histogram, old);
      });
    });
    return parts.length === 0 ? 0 : quantile(merge(parts), percentile);
  } catch (error) {
    if (error instanceof HistogramError) return undefined;
    throw error;
  }
}

function histograms({ page }: Pick<Snapshot, 'page'>, name: string, models: ReadonlySet<string>): ReadonlyMap<string, Histogram> {
  const family = page.get(name);
  if (family?.type !== 'histogram') return new Map();
  return new Map([...family.series].filter(([key]) => isOfModels(key, models)));
}

function before(page: Page): Snapshot | undefined {
  return page.past.windowAgo ?? page.past.oldest;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
