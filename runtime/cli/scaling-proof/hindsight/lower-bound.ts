import { type Service, tokensAtObjective } from '../service';
import type { Day } from '../traffic/day';

/**
 * USD below which no way to scale comes, whatever it knows: parts of replicas may be had, for parts of a second and without a start; every
 * replica is as busy as the objective allows; and the share of the requests that may miss it costs nothing, the longest answers first.
 *
 * @param missShare share of the requests that may miss the objective, 0..1.
 */
export function lowerBound(service: Service, { requests, durationMs }: Day, missShare: number): number {
  const { pools } = service;
  const rates = tokensAtObjective(service);
  const pricePerToken = Math.min(...pools.map(({ pricePerHour }, i) => pricePerHour / 3600 / rates[i]!));
  const lengths = requests.map(({ request }) => request.outputTokens).sort((a, b) => a - b);
  const served = lengths.slice(0, Math.ceil(lengths.length * (1 - missShare)));
  const tokens = served.reduce((total, length) => total + length, 0);
  const least = pools.reduce((total, { min, pricePerHour }) => total + min * pricePerHour, 0);
  return Math.max(pricePerToken * tokens, (least * durationMs) / 3_600_000);
}
