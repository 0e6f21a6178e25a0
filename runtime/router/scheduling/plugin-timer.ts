import type { Profile } from './profile';

/** One decision in so many is timed, so that the others pay one addition. Odd, since prefill and decode take turns. */
const INTERVAL = 61;

/** What one plugin took in one decision. */
export interface PluginTime {
  readonly plugin: string;
  readonly type: 'filter' | 'score';
  readonly ms: number;
}

/** A profile that decides as another one does, and the times of its plugins in the last decision. */
export interface TimedProfile {
  readonly profile: Profile;
  readonly times: readonly PluginTime[];
}

interface Stopwatch {
  readonly plugin: string;
  readonly type: 'filter' | 'score';
  ms: number;
}

/** Times the plugins of a decision now and then. */
export class PluginTimer {
  private count = 0;
  private readonly known = new WeakMap<Profile, { readonly profile: Profile; readonly watches: readonly Stopwatch[] }>();

  /** @param nowMs time that is not rounded. */
  constructor(private readonly nowMs: () => number) {}

  /** Call before each decision. @returns undefined for a decision that is not timed. */
  begin(profile: Profile): TimedProfile | undefined {
    if (this.count++ % INTERVAL !== 0) return undefined;
    let timed = this.known.get(profile);
    if (timed === undefined) {
      timed = this.wrap(profile);
      this.known.set(profile, timed);
    }
    for (const watch of timed.watches) watch.ms = 0;
    return { profile: timed.profile, times: timed.watches };
  }

  private wrap(profile: Profile): { readonly profile: Profile; readonly watches: readonly Stopwatch[] } {
    const { nowMs } = this;
    const watches: Stopwatch[] = [];
    const started = (plugin: string, type: Stopwatch['type']): Stopwatch => {
      const watch = { plugin, type, ms: 0 };
      watches.push(watch);
      return watch;
    };
    const filters = profile.filters.map((filter) => {
      const watch = started(filter.name, 'filter');
      const keeps: typeof filter.keeps = (request, candidate) => {
        const startMs = nowMs();
        const isKept = filter.keeps(request, candidate);
        watch.ms += nowMs() - startMs;
        return isKept;
      };
      return { ...filter, keeps };
    });
    const scorers = profile.scorers.map(({ scorer, weight }) => {
      const watch = started(scorer.name, 'score');
      const score: typeof scorer.score = (request, candidates, out) => {
        const startMs = nowMs();
        scorer.score(request, candidates, out);
        watch.ms += nowMs() - startMs;
      };
      return { scorer: { ...scorer, score }, weight };
    });
    return { profile: { ...profile, filters, scorers }, watches };
  }
}
