import type { MetricReading } from '../decide/observation';
import type { Family, Histogram } from './metrics-page';
import type { PodPage } from './pod-pages';
import { HistogramError, quantile, since } from './quantile';
import type { AskedPod, FamilyQuery, Reading } from './reading';
import { hasRestarted, podState } from './target-pods';

type Page = Extract<PodPage, { kind: 'page' }>;

/**
 * One value for the whole target, as Kthena 1.0 reads it: all pods added; one failed, terminating, restarted or unreachable pod makes the
 * whole target missing; counters are raw totals; a histogram is its first series, and the percentiles of the pods are added.
 */
export const kthenaReading: Reading = {
  read(pods, query) {
    if (pods.length === 0) return { kind: 'missing', reason: 'the target has no pods' };
    const blocking = pods.find(isBlocking);
    if (blocking !== undefined)
      return { kind: 'missing', reason: `pod ${blocking.pod.metadata.name} failed, ends or was restarted` };
    const ready = pods.flatMap(({ page }) => page ?? []);
    const pages = ready.flatMap((page) => (page.kind === 'page' ? [page] : []));
    const unreachable = ready.find((page) => page.kind === 'unreachable');
    if (unreachable !== undefined) return { kind: 'missing', reason: unreachable.reason };
    return addUp(pages, query);
  },

  countUnready: (pods) => (pods.some(isBlocking) ? 0 : pods.filter(({ pod }) => podState(pod) === 'unready').length),
};

function isBlocking({ pod }: AskedPod): boolean {
  const state = podState(pod);
  return state === 'failed' || state === 'terminating' || hasRestarted(pod);
}

function addUp(pages: readonly Page[], query: FamilyQuery): MetricReading {
  const values: number[] = [];
  for (const page of pages) {
    const family = page.page.get(query.family);
    if (family === undefined) continue;
    try {
      const value = podValue(family, page, query);
      if (value === undefined) return { kind: 'missing', reason: `${query.family} is no gauge, counter or histogram` };
      values.push(value);
    } catch (error) {
      if (error instanceof HistogramError) return { kind: 'missing', reason: `${query.family}: ${error.message}` };
      throw error;
    }
  }
  if (values.length === 0) return { kind: 'missing', reason: `no pod exposes the family ${query.family}` };
  return { kind: 'samples', values: [values.reduce((sum, value) => sum + value, 0)] };
}

function podValue(family: Family, page: Page, { family: name, percentile }: FamilyQuery): number | undefined {
  switch (family.type) {
    case 'gauge':
    case 'counter':
      return [...family.series.values()].reduce((sum, value) => sum + value, 0);
    case 'histogram': {
      const now = first(family.series);
      const earlier = page.past.windowAgo?.page.get(name);
      const then = earlier?.type === 'histogram' ? first(earlier.series) : undefined;
      return now === undefined ? 0 : quantile(then === undefined ? now : since(now, then), percentile);
    }
    default:
      return undefined;
  }
}

function first(series: ReadonlyMap<string, Histogram>): Histogram | undefined {
  return series.values().next().value;
}
