import type { IncomingHttpHeaders } from 'node:http';
import { chooseRank } from '../engine-rank';
import type { FaceContext } from '../face-context';
import type { GenerationInput } from '../generation';
import type { JsonObject } from '../http/json-body';
import { answerRandom, hexId } from '../ids';
import { readRooms } from './bootstrap-fields';
import { SglangError } from './sglang-error';

/** Most choices of a request: more than anybody means. */
const MAX_CHOICES = 16_384;

/** What all endpoints make of their bodies. */
export interface PlannedRequest {
  readonly body: JsonObject;
  /** The body as it came: rooms may exceed what a double holds. */
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly prompts: readonly (readonly number[])[];
  /** Ids that the client gave, by prompt. */
  readonly ids: readonly (string | undefined)[];
  readonly choices: number;
  /** The client's own limit; undefined for as many as there is room. */
  readonly wanted: number | undefined;
  readonly minTokens: number;
  readonly temperature: number;
  readonly seed: number | undefined;
  readonly ignoresEnd: boolean;
  readonly stop: readonly string[];
  readonly stopTokenIds: ReadonlySet<number>;
  readonly keepsStop: boolean;
  readonly streams: boolean;
  readonly adapter: string | undefined;
}

/** One generation for each prompt and choice, prompt by prompt. @throws SglangError */
export function planInputs(request: PlannedRequest, context: FaceContext): readonly GenerationInput[] {
  const { core, limits, writer, random, clock, ranks, transfer, tokenizer } = context;
  const { body, prompts, choices, wanted, temperature } = request;
  if (!(choices >= 1 && choices <= MAX_CHOICES)) throw new SglangError(`n must be at least 1, got ${choices}.`);
  if (wanted !== undefined && wanted < 0) throw new SglangError(`max_new_tokens must be at least 0, got ${wanted}.`);
  if (!(temperature >= 0 && Number.isFinite(temperature))) {
    const shown = Number.isInteger(temperature) ? `${temperature}.0` : String(temperature);
    throw new SglangError(`temperature must be a non-negative finite number, got ${shown}.`);
  }
  for (const promptIds of prompts) checkLength(promptIds.length, wanted, core.maxTokens);
  const isUnknown = (id: number): boolean => !(id >= 0 && id < tokenizer.vocabularySize);
  if (prompts.some((promptIds) => promptIds.some(isUnknown))) throw new FatalToken();
  const rooms = transfer === undefined ? undefined : readRooms(request, prompts.length * choices);
  const rank = chooseRank(ranks, request.headers, body.data_parallel_rank).index;
  const salt = [body.cache_salt, body.extra_key].filter((part) => typeof part === 'string').join('\n');
  return prompts.flatMap((promptIds, at) =>
    Array.from({ length: choices }, (_, choice): GenerationInput => {
      const id = request.ids[at] ?? hexId(random, 32);
      const meeting = rooms?.[at * choices + choice];
      if (transfer !== undefined && meeting === undefined) {
        throw new SglangError(`Invalid request: Disaggregated request received without bootstrap room id. req.rid='${id}'`);
      }
      // An answer has at least one token here: the core computes none that has nothing to say. Prefill stops after one by itself.
      const maxTokens = transfer?.role === 'prefill' ? 1 : Math.max(1, wanted ?? core.maxTokens - promptIds.length);
      return {
        id,
        promptIds,
        answer: writer.write(
          {
            maxTokens,
            minTokens: request.minTokens,
            ignoreEndOfText: request.ignoresEnd,
            endsAtOnce: false,
            stop: request.stop,
            stopTokenIds: request.stopTokenIds,
            includeStopInOutput: request.keepsStop,
          },
          answerRandom(random, promptIds, request.seed, temperature < 1e-5, choice),
        ),
        blockSize: limits.blockSize,
        arrivedAtMs: clock.monotonic(),
        maxTokens,
        choice,
        choices,
        streams: request.streams,
        rank: (meeting === undefined ? undefined : transfer?.rankOf(meeting.room)) ?? rank,
        ...(request.adapter === undefined ? {} : { adapter: request.adapter }),
        ...(salt === '' ? {} : { salt }),
        ...(typeof body.user === 'string' && body.user !== '' ? { tenant: body.user } : {}),
        ...(transfer === undefined || meeting === undefined
          ? {}
          : { handOff: transfer.handOff({ ...meeting, rid: id, promptTokens: promptIds.length }) }),
      };
    }),
  );
}

/** A token that the model does not have. Recorded: the scheduler dies of it, and the server with it, without an answer. */
export class FatalToken extends Error {}

function checkLength(tokens: number, wanted: number | undefined, length: number): void {
  if (tokens >= length) {
    throw new SglangError(`The input (${tokens} tokens) is longer than the model's context length (${length} tokens).`);
  }
  if (wanted !== undefined && tokens + wanted > length) {
    throw new SglangError(
      `Requested token count exceeds the model's maximum context length of ${length} tokens. You requested a total of ${tokens + wanted} tokens: ${tokens} tokens from the input messages and ${wanted} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`,
    );
  }
}

/** `stop` as a list of texts. */
export function readStop(stop: unknown): readonly string[] {
  const list = Array.isArray(stop) ? stop : [stop];
  return list.filter((text): text is string => typeof text === 'string' && text !== '');
}
