import type { Pod } from '../../../src/api/pod';
import type { EngineWindow } from '../decide/capacity/engine-window';
import { engineWindow, lackingFamilies } from './engine-window';
import { type PoolEngine, podsOfRevision } from './pool-engine';
import type { RoundView } from './round-view';
import { podState } from './target-pods';

/** What engines of one pool did. */
export interface PoolWindows {
  /** Since the last round, of the revision that the template has now: what capacity is learned from. */
  readonly windows: readonly EngineWindow[];
  /** Over the window of rates: what arrives. */
  readonly recent: readonly { readonly pod: Pod; readonly window: EngineWindow }[];
  /** Why `recent` is empty. */
  readonly whyNone: string;
}

/** Reads the engines of `pods` that are ready. */
export async function poolWindows(engine: PoolEngine, pods: readonly Pod[], view: RoundView): Promise<PoolWindows> {
  const ready = pods.filter((pod) => podState(pod) === 'ready');
  const current = new Set(podsOfRevision(ready, engine.revision, view));
  const windows: EngineWindow[] = [];
  const recent: PoolWindows['recent'][number][] = [];
  const pages = await Promise.all(
    ready.map(async (pod) => ({ pod, page: await view.pages.read(pod, engine.port, engine.engine.metricsPath) })),
  );
  let whyNone = 'no engine has a window to compare with yet';
  for (const { pod, page } of pages) {
    if (page.kind === 'unreachable') continue;
    const lacking = lackingFamilies(engine.engine, page.page);
    if (lacking.length > 0) {
      whyNone = `pod ${pod.metadata.name} does not expose ${lacking.join(', ')}, by which capacity is learned${hintOf(engine)}`;
      continue;
    }
    const { last, windowAgo, oldest } = page.past;
    const lately = last && engineWindow(engine.engine, last, page);
    if (lately !== undefined && current.has(pod)) windows.push(lately);
    const since = windowAgo ?? oldest;
    const over = since && engineWindow(engine.engine, since, page);
    if (over !== undefined) recent.push({ pod, window: over });
  }
  return { windows, recent, whyNone };
}

/** Such an engine shows a family with its first sample. */
function hintOf({ engine: { metricsFlag } }: PoolEngine): string {
  return metricsFlag === undefined ? '' : `; give it ${metricsFlag}, and a first request`;
}
