import type { MetricReading } from '../decide/observation';
import { isRatioName } from '../decide/ratio-name';
import type { Family, Histogram } from './metrics-page';
import type { Snapshot } from './page-archive';
import type { PodPage } from './pod-pages';
import { HistogramError, merge, quantile, since } from './quantile';
import type { AskedPod, FamilyQuery, Reading } from './reading';
import { podState } from './target-pods';

type Page = Extract<PodPage, { kind: 'page' }>;

/**
 * One value per replica that answered. A pod that is unready, restarting or unreachable leaves its replica out, and nothing else.
 *
 * - A gauge is its value, added over labels (averaged when its name says that it is a share).
 * - A counter is its rate per second over the window.
 * - A histogram is the percentile of what all replicas together observed over the window; each replica has that value.
 *
 * A counter or histogram seen for the first time has no window yet and is left out once.
 */
export const replicaReading: Reading = {
  read(pods, query) {
    const answered = pods.flatMap((pod) => (pod.page?.kind === 'page' ? [{ ...pod, page: pod.page }] : []));
    if (answered.length === 0) return { kind: 'missing', reason: whyNone(pods) };
    const exposing = answered.flatMap(({ replica, page }) => {
      const family = page.page.get(query.family);
      return family === undefined ? [] : [{ replica, page, family }];
    });
    if (exposing.length === 0) return { kind: 'missing', reason: `no pod exposes the family ${query.family}` };
    const silent = new Set(pods.filter(isSilent).map(({ replica }) => replica));
    const usable = exposing.filter(({ replica }) => !silent.has(replica));
    if (usable.length === 0) return { kind: 'missing', reason: whyNone(pods.filter(isSilent)) };
    const { type } = exposing[0]!.family;
    if (type === 'summary')
      return { kind: 'missing', reason: `${query.family} is a summary; name a gauge, counter or histogram` };
    return type === 'histogram' ? readHistogram(usable, query) : readScalar(usable, query);
  },

  countUnready: (pods) => pods.filter(({ pod }) => podState(pod) === 'unready').length,
};

interface Exposing {
  readonly replica: string;
  readonly page: Page;
  readonly family: Family;
}

function isSilent({ pod, page }: AskedPod): boolean {
  return podState(pod) !== 'terminating' && page?.kind !== 'page';
}

function whyNone(pods: readonly AskedPod[]): string {
  if (pods.length === 0) return 'the target has no pods';
  const unreachable = pods.flatMap(({ page }) => (page?.kind === 'unreachable' ? [page.reason] : []));
  return unreachable[0] ?? 'no pod is ready';
}

function readScalar(exposing: readonly Exposing[], { family: name, isPerGroup }: FamilyQuery): MetricReading {
  const isMean = isRatioName(name);
  const byReplica = new Map<string, number[]>();
  for (const { replica, page, family } of exposing) {
    if (family.type === 'histogram' || family.type === 'summary') continue;
    const value = family.type === 'counter' ? rateOf(name, page) : fold([...family.series.values()], isMean);
    if (value !== undefined && Number.isFinite(value)) byReplica.set(replica, [...(byReplica.get(replica) ?? []), value]);
  }
  if (byReplica.size === 0) return { kind: 'missing', reason: `${name} has no window to compare with yet` };
  const over = exposing[0]!.family.type === 'counter' ? 'window' : 'moment';
  const values = [...byReplica.values()].map((each) => fold(each, isMean || isPerGroup));
  return { kind: 'samples', values, over };
}

function readHistogram(exposing: readonly Exposing[], { family: name, percentile }: FamilyQuery): MetricReading {
  try {
    const observed = exposing.flatMap(({ replica, page }) => {
      const then = before(page);
      const now = histograms(page, name);
      if (then === undefined || now === undefined) return [];
      const earlier = histograms(then, name);
      const parts = [...now].map(([key, histogram]) => {
        const old = earlier?.get(key);
        return old === undefined ? histogram : since(histogram, old);
      });
      return parts.length === 0 ? [] : [{ replica, histogram: merge(parts) }];
    });
    if (observed.length === 0) return { kind: 'missing', reason: `${name} has no window to compare with yet` };
    const value = quantile(merge(observed.map(({ histogram }) => histogram)), percentile);
    return { kind: 'samples', values: [...new Set(observed.map(({ replica }) => replica))].map(() => value), over: 'window' };
  } catch (error) {
    if (error instanceof HistogramError) return { kind: 'missing', reason: `${name}: ${error.message}` };
    throw error;
  }
}

function before(page: Page): Snapshot | undefined {
  return page.past.windowAgo ?? page.past.oldest;
}

function histograms(snapshot: Pick<Snapshot, 'page'>, name: string): ReadonlyMap<string, Histogram> | undefined {
  const family = snapshot.page.get(name);
  return family?.type === 'histogram' ? family.series : undefined;
}

/** Increase per second since the window began. A count that went back started again from zero, as Prometheus takes it. */
function rateOf(name: string, page: Page): number | undefined {
  const then = before(page);
  const now = page.page.get(name);
  const earlier = then?.page.get(name);
  if (then === undefined || now?.type !== 'counter' || page.atMs <= then.atMs) return undefined;
  let increase = 0;
  for (const [key, value] of now.series) {
    const old = earlier?.type === 'counter' ? (earlier.series.get(key) ?? 0) : 0;
    increase += value >= old ? value - old : value;
  }
  return (increase * 1000) / (page.atMs - then.atMs);
}

function fold(values: readonly number[], isMean: boolean): number {
  const sum = values.reduce((total, value) => total + value, 0);
  return isMean && values.length > 0 ? sum / values.length : sum;
}
