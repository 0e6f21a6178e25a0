import { InvalidArgumentError } from 'commander';
import type { Random } from '../../../lib/random';
import { segmentedRequest } from './segmented-prompt';
import type { Workload } from './workload';

/** Groups of requests that share a system prompt: the `generated-shared-prefix` data set of SGLang's benchmark, `shared_prefix` of inference-perf. */
export interface SharedPrefix {
  readonly groups: number;
  readonly promptsPerGroup: number;
  readonly systemTokens: number;
  readonly questionTokens: number;
  readonly outputTokens: number;
}

export interface SharedPrefixOptions {
  /** Order of the prompts and the times between them. */
  readonly random: Random;
  /** Requests in flight at one time. @default no bound */
  readonly concurrency?: number;
  /** Requests per second, as a Poisson process. @default all are ready at once */
  readonly requestsPerSecond?: number;
}

/** Reads `GROUPSxPROMPTS,SYSTEM,QUESTION,OUTPUT`. @throws InvalidArgumentError, which commander prints with the flag's name. */
export function parseSharedPrefix(text: string): SharedPrefix {
  const match = /^(\d+)x(\d+),(\d+),(\d+),(\d+)$/.exec(text);
  const [groups, promptsPerGroup, systemTokens, questionTokens, outputTokens] = (match?.slice(1) ?? []).map(Number);
  const isWhole = groups! >= 1 && promptsPerGroup! >= 1 && questionTokens! >= 1 && outputTokens! >= 1;
  if (match === null || !isWhole || groups! * promptsPerGroup! > 1_000_000 || systemTokens! + questionTokens! > 10_000_000) {
    throw new InvalidArgumentError(
      'give groups x prompts of each, tokens of system prompt, question, answer: 256x32,4096,256,128',
    );
  }
  return {
    groups: groups!,
    promptsPerGroup: promptsPerGroup!,
    systemTokens: systemTokens!,
    questionTokens: questionTokens!,
    outputTokens: outputTokens!,
  };
}

/** The workload: every prompt once, all shuffled, each answer as long as asked for. */
export function sharedPrefixWorkload(shape: SharedPrefix, options: SharedPrefixOptions): Workload {
  const { groups, promptsPerGroup, systemTokens, questionTokens, outputTokens } = shape;
  const { random, concurrency, requestsPerSecond } = options;
  const count = groups * promptsPerGroup;
  const order = shuffled(count, random);
  let startMs = 0;
  const sessions = order.map((prompt, index) => {
    if (requestsPerSecond !== undefined && index > 0) startMs += (-1000 * Math.log(1 - random.next())) / requestsPerSecond;
    const system = { id: prompt % groups, tokens: systemTokens };
    const segments = [...(systemTokens > 0 ? [system] : []), { id: groups + prompt, tokens: questionTokens }];
    return { startMs, requests: [segmentedRequest({ index, segments, outputTokens, maxOutputTokens: outputTokens })] };
  });
  return { sessions, ...(concurrency === undefined ? {} : { concurrency }) };
}

function shuffled(count: number, random: Random): readonly number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(random.next() * (i + 1));
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}
