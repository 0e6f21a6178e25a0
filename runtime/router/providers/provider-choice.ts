import type { RouterConfig } from '../../../src/config/router-config';
import type { Clock } from '../../lib/clock';
import type { ParsedBody } from '../request/parse-body';
import { OutputEstimate } from '../scheduling/output-estimate';
import type { ProviderLatency } from './provider-latency';

export interface ProviderChoiceOptions {
  readonly config: Pick<RouterConfig, 'providers'>;
  readonly clock: Clock;
  /** @param key `namespace/name`. */
  readonly latencyOf: (key: string) => ProviderLatency;
  /** Whether it keeps failing. */
  readonly isEjected: (key: string) => boolean;
}

/** What of a request decides what it costs at a provider. */
export type PricedRequest = Pick<ParsedBody, 'model' | 'promptTokens' | 'maxOutputTokens' | 'streams'>;

/** Which of several providers a request goes to: that of least time and price, where the configuration asks for it. */
export class ProviderChoice {
  /** Tokens of answers, by the model that clients named. */
  private readonly outputs = new OutputEstimate();

  constructor(private readonly options: ProviderChoiceOptions) {}

  /** Whether anything but weight decides. */
  get isOn(): boolean {
    return this.options.config.providers.selection === 'cost';
  }

  /**
   * What a request costs at a provider, in seconds: the time until its answer begins, and the price at its worth in time. A provider of
   * which nothing is known takes no time, so that it is tried; one that keeps failing comes after all others.
   *
   * @param key `namespace/name`.
   */
  seconds(key: string, { model, promptTokens, maxOutputTokens, streams }: PricedRequest): number {
    const { config, clock, latencyOf, isEjected } = this.options;
    if (isEjected(key)) return Number.POSITIVE_INFINITY;
    const { prices, secondsPerUnit } = config.providers;
    const price = Object.hasOwn(prices, key) ? prices[key] : undefined;
    const outputTokens = this.outputs.expectedTokens(model, maxOutputTokens);
    const units =
      price === undefined ? 0 : (promptTokens * price.inputPerMillion + outputTokens * price.outputPerMillion) / 1_000_000;
    return (latencyOf(key).meanAt(streams, clock.monotonic()) ?? 0) + secondsPerUnit * units;
  }

  /** The least of some by `seconds`; of equal ones the first. @param keyOf `namespace/name` of each. */
  best<T>(candidates: readonly T[], keyOf: (candidate: T) => string, request: PricedRequest): T | undefined {
    let best: T | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const candidate of candidates) {
      const seconds = this.seconds(keyOf(candidate), request);
      if (best !== undefined && seconds >= least) continue;
      best = candidate;
      least = seconds;
    }
    return best;
  }

  /** An answer had so many tokens. */
  answered(model: string, outputTokens: number): void {
    this.outputs.observe(model, outputTokens);
  }
}
