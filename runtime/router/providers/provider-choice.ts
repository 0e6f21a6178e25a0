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

  /** The first of `byCost`. */
  best<T>(candidates: readonly T[], keyOf: (candidate: T) => string, request: PricedRequest): T | undefined {
    return this.byCost(candidates, keyOf, request)[0];
  }

  /** Some by `seconds`, the least first; equal ones stay in their order. @param keyOf `namespace/name` of each. */
  byCost<T>(candidates: readonly T[], keyOf: (candidate: T) => string, request: PricedRequest): readonly T[] {
    const costed = candidates.map((candidate) => ({ candidate, seconds: this.seconds(keyOf(candidate), request) }));
    // Of two that keep failing the difference is no number.
    costed.sort((a, b) => (a.seconds === b.seconds ? 0 : a.seconds - b.seconds));
    return costed.map(({ candidate }) => candidate);
  }

  /** An answer had so many tokens. */
  answered(model: string, outputTokens: number): void {
    this.outputs.observe(model, outputTokens);
  }
}
