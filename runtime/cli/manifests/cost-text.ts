import type { Amount } from '../../../src/checks';

/** GPUs at fewest and most replicas, as `1–4` or, when both are the same, `2`. */
export function gpusText(min: Amount, max: Amount): string {
  return range(String(min.gpus), String(max.gpus));
}

/** Cost per hour at fewest and most replicas, in the currency of the prices; `unknown` where one price is. */
export function costText(min: Amount, max: Amount): string {
  return range(price(min), price(max));
}

const price = ({ costPerHour }: Amount): string => costPerHour?.toFixed(2) ?? 'unknown';
const range = (from: string, to: string): string => (from === to ? from : `${from}–${to}`);
