import type { ServerResponse } from 'node:http';
import type { Submission } from './engine-core';
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
}

/**
 * Has the core compute the choices of one request. Whatever happens, every slot is given back: when the client leaves, with or without
 * a stream, the core hears of it at once.
 */
export function serveChoices(
  context: FaceContext,
  response: ServerResponse,
  inputs: readonly GenerationInput[],
  sink: ChoicesSink,
): void {
  const { core, metrics, faults } = context;
  const submissions: Submission[] = [];
  let unfinished = inputs.length;
  let sent = 0;
  let isOver = false;

  const leave = (): void => {
    if (isOver) return;
    isOver = true;
    for (const submission of submissions) submission.abort();
  };
  const cut = (): void => {
    leave();
    // In a later turn, so that what was written before leaves the process.
    setImmediate(() => response.socket?.destroy());
  };
  whenClientLeaves(response, leave);

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
          metrics.ended(generation, outcome);
          if (isOver) return;
          if (outcome.kind === 'killed') {
            isOver = true;
            if (context.phase !== 'stalled') sink.onCrash();
            return;
          }
          unfinished -= 1;
          if (unfinished > 0) return;
          isOver = true;
          sink.onDone(generations);
        },
      }),
  );
  for (const generation of generations) {
    metrics.arrived(generation);
    submissions.push(core.submit(generation));
  }
}
