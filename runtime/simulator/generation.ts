import type { Answer } from './answer/answer-writer';
import { BlockKeys } from './block-keys';
import type { EngineOutcome, EngineRequest } from './engine-request';

export interface GenerationInput {
  readonly id: string;
  readonly promptIds: readonly number[];
  readonly answer: Answer;
  readonly blockSize: number;
  readonly arrivedAtMs: number;
  /** What the client asked for at most. */
  readonly maxTokens: number;
  /** Which of the choices it is, from 0. */
  readonly choice: number;
  /** Choices that the client asked for with this prompt. */
  readonly choices: number;
  readonly streams: boolean;
  readonly adapter?: string;
  readonly salt?: string;
}

export interface GenerationSink {
  onToken(generation: Generation, index: number, atMs: number): void;
  onEnd(generation: Generation, outcome: EngineOutcome): void;
}

/** One answer that an engine's face has the core compute, with the times that metrics need. */
export class Generation implements EngineRequest {
  readonly id: string;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly adapter?: string;
  /** Prompt tokens found in the cache; undefined until it was admitted. */
  cachedTokens: number | undefined;
  admittedAtMs: number | undefined;
  firstTokenAtMs: number | undefined;
  lastTokenAtMs: number | undefined;
  private readonly keys: BlockKeys;

  constructor(
    readonly input: GenerationInput,
    private readonly sink: GenerationSink,
  ) {
    const { promptIds, answer } = input;
    this.id = input.id;
    this.promptTokens = promptIds.length;
    this.outputTokens = answer.length;
    if (input.adapter !== undefined) this.adapter = input.adapter;
    this.keys = new BlockKeys(input.blockSize, input, (position) =>
      position < promptIds.length ? promptIds[position]! : answer.token(position - promptIds.length).id,
    );
  }

  blockKey(index: number): number {
    return this.keys.key(index);
  }

  onToken(index: number, atMs: number): void {
    this.sink.onToken(this, index, atMs);
    this.firstTokenAtMs ??= atMs;
    this.lastTokenAtMs = atMs;
  }

  onEnd(outcome: EngineOutcome): void {
    this.sink.onEnd(this, outcome);
  }
}
