import { decodeTime } from './plugins/decode-time';
import { kvPressure } from './plugins/kv-pressure';
import { prefillTime } from './plugins/prefill-time';
import { slotWait } from './plugins/slot-wait';
import type { Profile } from './profile';

/** What latency a profile is to keep low: until the first token, or until the last. */
export type LatencyObjective = 'ttft' | 'e2e';

/** γ: how much a second of decode counts against a second before the first token. */
const DECODE_WEIGHT: Readonly<Record<LatencyObjective, number>> = { ttft: 0.25, e2e: 1 };
/** Costs closer than this to the best are a tie: this share of its prefill time, and never more than this time. */
const TIE_RATIO = 0.02;
const MOST_TIE_SECONDS = 0.005;

/** The default profile: an additive cost in seconds, T + γ·D + M + slot wait. */
export function expectedLatency(objective: LatencyObjective = 'e2e'): Profile {
  return {
    name: 'expected-latency',
    filters: [],
    scorers: [
      { scorer: prefillTime, weight: 1 },
      { scorer: decodeTime, weight: DECODE_WEIGHT[objective] },
      { scorer: kvPressure, weight: 1 },
      { scorer: slotWait, weight: 1 },
    ],
    tieWidth: ([prefillSeconds = 0]) => Math.min(TIE_RATIO * prefillSeconds, MOST_TIE_SECONDS),
  };
}
