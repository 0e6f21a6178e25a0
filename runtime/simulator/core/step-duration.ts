import type { StepTime } from '../../../src/catalog/step-time';
import type { StepBatch } from './batch-scheduler';

/** How long a step takes: α + β·prefill tokens + γ·decoding sequences + δ·KV tokens read. @returns milliseconds. */
export function stepDurationMs(time: StepTime, batch: StepBatch): number {
  return (
    time.baseMs +
    time.perPrefillTokenMs * batch.prefillTokens +
    time.perSequenceMs * batch.decodeSequences +
    time.perKvTokenMs * batch.kvTokens
  );
}
