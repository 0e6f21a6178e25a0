import type { HistogramSeries, Metrics, Series } from '../../lib/metrics';
import { PluginTimer, type TimedProfile } from '../scheduling/plugin-timer';
import type { Profile } from '../scheduling/profile';

/** Bucket bounds in seconds, as Kthena has them for plugins. */
const PLUGIN_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5];
const RATIO = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** Metrics of decisions, under Kthena's names. */
export class SchedulingMetrics {
  private readonly seconds;
  private readonly ratios;
  private readonly evictions;
  private readonly entries: Series;
  private readonly timer: PluginTimer;
  private readonly ratioByModel = new Map<string, HistogramSeries>();

  /** @param nowMs real time that is not rounded: a plugin takes microseconds. */
  constructor(
    private readonly metrics: Metrics,
    nowMs: () => number,
  ) {
    this.seconds = metrics.histogram(
      'kthena_router_scheduler_plugin_duration_seconds',
      'How long scheduling plugins take, of one decision in 61.',
      ['model', 'plugin', 'type'],
      PLUGIN_SECONDS,
    );
    this.ratios = metrics.histogram(
      'kthena_router_prefix_cache_match_ratio',
      'Share of prompts that the pod with most of it is believed to have in its cache.',
      ['model'],
      RATIO,
    );
    this.evictions = metrics.counter(
      'kthena_router_prefix_cache_evictions_total',
      'Blocks that the prefix index forgot for want of room.',
      ['model'],
    );
    this.entries = metrics.gauge('kthena_router_prefix_cache_entries', 'Blocks in the prefix index.').with();
    this.timer = new PluginTimer(nowMs);
  }

  /** @returns the profile with its plugins timed, for the decisions that are measured. */
  timed(profile: Profile): TimedProfile | undefined {
    return this.timer.begin(profile);
  }

  took(model: string, { times }: TimedProfile): void {
    for (const { plugin, type, ms } of times) this.seconds.with(model, plugin, type).observe(ms / 1000);
  }

  /** @param ratio 0..1. */
  matched(model: string, ratio: number): void {
    let series = this.ratioByModel.get(model);
    if (series === undefined) {
      series = this.ratios.with(model);
      this.ratioByModel.set(model, series);
    }
    series.observe(ratio);
  }

  evicted(model: string, blocks: number): void {
    this.evictions.with(model).add(blocks);
  }

  /** @param read called before each scrape, for what is looked up then. */
  follow(read: () => void): void {
    this.metrics.onCollect(read);
  }

  held(blocks: number): void {
    this.entries.set(blocks);
  }
}
