import { adapterLoad } from './plugins/adapter-load';
import { decodeTime } from './plugins/decode-time';
import { kvPressure } from './plugins/kv-pressure';
import { lateTokens } from './plugins/late-tokens';
import { linkTime } from './plugins/link-time';
import { podPrice } from './plugins/pod-price';
import { prefillTime } from './plugins/prefill-time';
import { slotWait } from './plugins/slot-wait';
import type { Profile, WeightedScorer } from './profile';

/** What latency a profile is to keep low: until the first token, or until the last. */
export type LatencyObjective = 'ttft' | 'e2e';

/**
 * γ: how much a second of decode counts against a second before the first token. A decode's time is spread over the answer and mostly
 * the same everywhere, while an error in its estimate is as long as the answer; in replays of public traces 0.5 gave the shortest
 * end-to-end time (0.25 and 1 were tried) and 0.25 the shortest time to the first token.
 */
const DECODE_WEIGHT: Readonly<Record<LatencyObjective, number>> = { ttft: 0.25, e2e: 0.5 };
/** Costs closer than this to the best are a tie: this share of its prefill time, and never more than this time. */
const TIE_RATIO = 0.02;
const MOST_TIE_SECONDS = 0.005;

/**
 * What a second of late tokens counts against a second of any other wait. Each sequence beyond the objective delays all that run there, so
 * that 2 is enough for no pod to be made late while another has room; where all are late, the work is spread as evenly as without.
 */
const LATE_WEIGHT = 2;

/**
 * The default profile: an additive cost in seconds, T + γ·D + M + slot wait, with an objective for tokens those that are late, and adapter
 * load where there is one.
 *
 * @param itlMs longest mean time between the tokens of an answer, in milliseconds. @default none is too long
 * @param secondsPerUnit seconds of waiting that one unit of the pods' prices is worth. @default prices do not count
 */
export function expectedLatency(objective: LatencyObjective = 'e2e', itlMs?: number, secondsPerUnit?: number): Profile {
  const late = itlMs === undefined ? [] : [{ scorer: lateTokens(itlMs), weight: LATE_WEIGHT }];
  const scorers = [
    { scorer: prefillTime, weight: 1 },
    { scorer: decodeTime, weight: DECODE_WEIGHT[objective] },
    { scorer: kvPressure, weight: 1 },
    { scorer: slotWait, weight: 1 },
  ];
  const made = (own: readonly WeightedScorer[]): Profile =>
    secondsPerUnit === undefined ? profileOf(own, late) : priced(profileOf(own, late), secondsPerUnit);
  return { ...made(scorers), forAdapters: made([...scorers, { scorer: adapterLoad, weight: 1 }]) };
}

function profileOf(scorers: readonly WeightedScorer[], late: readonly WeightedScorer[]): Profile {
  return {
    name: 'expected-latency',
    filters: [],
    scorers: [...scorers, ...late],
    pair: {
      // What waits at a prefill pod was sent before and is not held up by what comes after: nothing decodes there.
      prefill: scorers.filter(({ scorer }) => scorer !== decodeTime),
      decode: [...scorers, ...late, { scorer: linkTime, weight: 1 }],
    },
    tieWidth: ([prefillSeconds = 0]) => Math.min(TIE_RATIO * prefillSeconds, MOST_TIE_SECONDS),
  };
}

/** The profile with what each leg costs in money. */
function priced(profile: Profile, secondsPerUnit: number): Profile {
  const { scorers, pair } = profile;
  const whole = { scorer: podPrice(secondsPerUnit, 'whole'), weight: 1 };
  const prompt = { scorer: podPrice(secondsPerUnit, 'prompt'), weight: 1 };
  return {
    ...profile,
    scorers: [...scorers, whole],
    ...(pair && { pair: { prefill: [...pair.prefill, prompt], decode: [...pair.decode, whole] } }),
  };
}
