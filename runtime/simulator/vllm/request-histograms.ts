import type { EngineOutcome } from '../engine-request';
import type { Generation } from '../generation';
import { type Exposition, Histogram, type Labels } from '../metrics/exposition';

/** Upper bounds as the recorded versions have them, in seconds. */
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
const PER_TOKEN = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80];
const REQUEST = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680];
const CHOICES = [1, 2, 5, 10, 20];
const PREEMPTIONS = [1, 2, 3, 4, 5, 10, 20];

export type RequestHistograms = ReturnType<typeof requestHistograms>;

/** vLLM's histograms over requests. Times are of the clock that the engine runs on. */
export function requestHistograms(maxModelLen: number) {
  const tokenBounds = oneTwoFive(maxModelLen);
  const tokens = (): Histogram => new Histogram(tokenBounds);
  const seconds = (): Histogram => new Histogram(REQUEST);
  const timeToFirstToken = new Histogram(FIRST_TOKEN);
  const interTokenLatency = new Histogram(PER_TOKEN);
  const timePerOutputToken = new Histogram(PER_TOKEN);
  const [promptTokens, generationTokens, maxGenerationTokens, paramsMaxTokens, prefillComputed] = [
    tokens(),
    tokens(),
    tokens(),
    tokens(),
    tokens(),
  ];
  const [endToEnd, queue, inference, prefill, decode] = [seconds(), seconds(), seconds(), seconds(), seconds()];
  const paramsN = new Histogram(CHOICES);
  const preemptions = new Histogram(PREEMPTIONS);

  return {
    timeToFirstToken,
    interTokenLatency,
    paramsMaxTokens,

    observeFinished(generation: Generation, outcome: EngineOutcome): void {
      const { input, admittedAtMs = outcome.atMs, firstTokenAtMs = outcome.atMs } = generation;
      const s = (fromMs: number, toMs: number): number => (toMs - fromMs) / 1000;
      promptTokens.observe(generation.promptTokens);
      generationTokens.observe(outcome.generatedTokens);
      prefillComputed.observe(generation.promptTokens - outcome.cachedTokens);
      preemptions.observe(outcome.preemptions);
      endToEnd.observe(s(input.arrivedAtMs, outcome.atMs));
      queue.observe(s(input.arrivedAtMs, admittedAtMs));
      inference.observe(s(admittedAtMs, outcome.atMs));
      prefill.observe(s(admittedAtMs, firstTokenAtMs));
      decode.observe(s(firstTokenAtMs, outcome.atMs));
      timePerOutputToken.observe(
        outcome.generatedTokens > 1 ? s(firstTokenAtMs, outcome.atMs) / (outcome.generatedTokens - 1) : 0,
      );
      // Counted once for all choices of a prompt.
      if (input.choice === 0) {
        paramsN.observe(input.choices);
        maxGenerationTokens.observe(outcome.generatedTokens);
      }
    },

    write(
      out: Exposition,
      own: Labels,
      { isRecent, hasOldNames }: { readonly isRecent: boolean; readonly hasOldNames: boolean },
    ): void {
      const write = (name: string, help: string, histogram: Histogram): void =>
        out.histogram(`vllm:${name}`, help, [[own, histogram]]);
      write('request_prompt_tokens', 'Prompt tokens of a request.', promptTokens);
      write('request_generation_tokens', 'Generated tokens of a request.', generationTokens);
      write('request_max_num_generation_tokens', 'Most tokens generated for one choice.', maxGenerationTokens);
      write('request_params_n', 'Choices asked for.', paramsN);
      write('request_params_max_tokens', 'Tokens asked for at most.', paramsMaxTokens);
      write('time_to_first_token_seconds', 'From arrival to the first token.', timeToFirstToken);
      write('inter_token_latency_seconds', 'From token to token.', interTokenLatency);
      if (hasOldNames) write('time_per_output_token_seconds', 'From token to token.', interTokenLatency);
      write('request_time_per_output_token_seconds', 'Mean time of a token behind the first.', timePerOutputToken);
      write('e2e_request_latency_seconds', 'From arrival to the end.', endToEnd);
      write('request_queue_time_seconds', 'From arrival to the first step.', queue);
      write('request_inference_time_seconds', 'From the first step to the end.', inference);
      write('request_prefill_time_seconds', 'From the first step to the first token.', prefill);
      write('request_decode_time_seconds', 'From the first token to the end.', decode);
      if (isRecent) write('request_num_preemptions', 'Preemptions of a request.', preemptions);
      write('request_prefill_kv_computed_tokens', 'Prompt tokens of a request that were not cached.', prefillComputed);
    },
  };
}

/** 1, 2, 5, 10, 20, … up to `most`. */
function oneTwoFive(most: number): readonly number[] {
  const bounds: number[] = [];
  for (let power = 1; power <= most; power *= 10)
    for (const step of [1, 2, 5]) if (step * power <= most) bounds.push(step * power);
  return bounds;
}
