import type { ServerResponse } from 'node:http';
import type { Submission } from './engine-core';
import type { EngineOutcome } from './engine-request';
import type { FaceContext } from './face-context';
import { Generation, type GenerationInput } from './generation';
import { whenClientLeaves } from './http/exchange';

/** How the answers of one HTTP request go out. */
export interface ChoicesSink {
  /** Token `index` of choice `choice` was generated. */
  onToken(choice: number, index: number, generation: Generation): void;
  /** All choices are complete. */
  onDone(generations: readonly Generation[]): void;
  /** The engine died before that. */
  onCrash(): void;
  /** KV from another engine did not arrive, so that there is no answer. */
  onLoadFailed(generation: Generation, generations: readonly Generation[]): void;
  /** Somebody had the request ended by its id. */
  onAborted?(generations: readonly Generation[]): void;
}

/**
 * Has the core compute the choices of one request. Whatever happens, every slot is given back: when the client leaves, with or without
 * a stream, the core hears of it at once.
 *
 * @param id by which it can be aborted; undefined where the engine has no such call.
 */
export function serveChoices(
  context: FaceContext,
  response: ServerResponse,
  inputs: readonly GenerationInput[],
  sink: ChoicesSink,
  id?: string,
): void {
  const { ranks, metrics, faults, clock, requests } = context;
  const submissions: Submission[] = [];
  const open = new Set<Generation>();
  let sent = 0;
  let isOver = false;

  const end = (generation: Generation, outcome: EngineOutcome): void => {
    if (open.delete(generation)) metrics.ended(generation, outcome);
  };
  const leave = (): void => {
    if (isOver) return;
    isOver = true;
    for (const submission of submissions) submission.abort();
    // What the core does not have, or has no longer, waits for another engine.
    for (const generation of [...open]) {
      generation.input.handOff?.cancel();
      end(generation, {
        kind: 'aborted',
        atMs: clock.monotonic(),
        cachedTokens: generation.cachedTokens ?? 0,
        generatedTokens: 0,
        preemptions: 0,
      });
    }
  };
  const cut = (): void => {
    leave();
    // In a later turn, so that what was written before leaves the process.
    setImmediate(() => response.socket?.destroy());
  };
  whenClientLeaves(response, leave);
  if (id !== undefined) {
    const forget = requests.add(id, () => {
      if (isOver) return;
      leave();
      sink.onAborted?.(generations);
    });
    response.once('close', forget);
  }

  const generations = inputs.map(
    (input, choice) =>
      new Generation(input, {
        onToken(generation, index, atMs) {
          metrics.token(generation, atMs);
          if (isOver) return;
          const limit = faults.cutAfterTokens;
          if (limit !== undefined && sent >= limit) return cut();
          sent += 1;
          sink.onToken(choice, index, generation);
          if (limit !== undefined && sent >= limit) cut();
        },
        onEnd(generation, outcome) {
          end(generation, outcome);
          if (isOver) return;
          if (outcome.kind === 'killed') {
            isOver = true;
            if (context.phase !== 'stalled') sink.onCrash();
            return;
          }
          if (outcome.kind === 'loadFailed') {
            leave();
            sink.onLoadFailed(generation, generations);
            return;
          }
          if (open.size > 0) return;
          isOver = true;
          sink.onDone(generations);
        },
      }),
  );
  for (const generation of generations) {
    metrics.arrived(generation);
    open.add(generation);
  }
  for (const generation of generations) {
    const start = (): void => {
      if (!isOver) submissions.push(ranks[generation.rank]!.core.submit(generation));
    };
    const { handOff } = generation.input;
    if (handOff?.whenReady === undefined) start();
    else handOff.whenReady(start);
  }
}
