import { readTrace } from '../../../runtime/cli/replay/workload/read-trace';
import { traceWorkload } from '../../../runtime/cli/replay/workload/trace-workload';
import { seededRandom } from '../../../runtime/lib/random';

/** A request of a trace as a client sends it. */
export interface ScaledRequest {
  /** From the start of the run, in milliseconds. */
  readonly atMs: number;
  readonly prompt: string;
  readonly outputTokens: number;
}

export interface SliceOptions {
  readonly file: string;
  /** Of the trace's own time, from its start. */
  readonly minutes: number;
  /** Time, prompts and answers are so many times shorter, while engines compute at their own rates: queues look as they do in the trace. */
  readonly scale: number;
}

/** Of which simulated engines make a token each, when words are three letters and a space: what replayed text has on average. */
const BYTES_PER_TOKEN = 4;
const SPACE = 0x20;

/** The beginning of a trace, with arrivals of one instant spread over the time until the next one. The same at every call. */
export function scaledSlice({ file, minutes, scale }: SliceOptions): readonly ScaledRequest[] {
  const scaled = readTrace(file)
    .filter(({ atMs }) => atMs < minutes * 60_000)
    .map(({ atMs, segments, outputTokens }) => ({
      atMs,
      outputTokens: Math.max(1, Math.round(outputTokens / scale)),
      segments: segments.map(({ id, tokens }) => ({ id, tokens: Math.max(1, Math.round(tokens / scale)) })),
    }));
  const { sessions } = traceWorkload(scaled, { jitter: seededRandom(1), speed: scale });
  return sessions.flatMap(({ startMs, requests }) =>
    requests.map((request) => ({
      atMs: startMs,
      prompt: wordsOf(request.promptSpan()),
      outputTokens: request.outputTokens,
    })),
  );
}

/** Replayed text has no spaces, and would be one word. */
function wordsOf(text: Buffer): string {
  for (let at = BYTES_PER_TOKEN - 1; at < text.length; at += BYTES_PER_TOKEN) text[at] = SPACE;
  return text.toString('latin1');
}
