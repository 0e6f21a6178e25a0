import type { Answer } from './answer/answer-writer';
import { BlockKeys } from './block-keys';
import type { EngineOutcome, EngineRequest } from './engine-request';
import type { KvHandOff } from './kv/kv-hand-off';
import type { RemoteKv } from './remote-kv';

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
  /** Data-parallel rank that computes it. @default 0 */
  readonly rank?: number;
  readonly adapter?: string;
  readonly salt?: string;
  readonly tenant?: string;
  readonly handOff?: KvHandOff;
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
  readonly tenant?: string;
  readonly remoteKv?: RemoteKv;
  readonly retainsBlocks?: boolean;
  admittedAtMs: number | undefined;
  firstTokenAtMs: number | undefined;
  lastTokenAtMs: number | undefined;
  /** Tokens that the core made. */
  generatedTokens = 0;
  /** Prompt tokens found in the own cache; undefined until it was admitted. */
  localTokens: number | undefined;
  private readonly keys: BlockKeys;
  /** What waits for the hand-off. */
  private readonly deferred: (() => void)[] = [];

  constructor(
    readonly input: GenerationInput,
    private readonly sink: GenerationSink,
  ) {
    const { promptIds, answer, handOff } = input;
    this.id = input.id;
    this.promptTokens = promptIds.length;
    this.outputTokens = answer.length;
    if (input.adapter !== undefined) this.adapter = input.adapter;
    if (input.tenant !== undefined) this.tenant = input.tenant;
    if (handOff?.remoteKv !== undefined) this.remoteKv = handOff.remoteKv;
    if (handOff?.retainsBlocks === true) this.retainsBlocks = true;
    this.keys = new BlockKeys(input.blockSize, input, (position) =>
      position < promptIds.length ? promptIds[position]! : answer.token(position - promptIds.length).id,
    );
  }

  get rank(): number {
    return this.input.rank ?? 0;
  }

  /** Prompt tokens that were cached here or at the engine that prefilled; undefined until they are known. */
  get cachedTokens(): number | undefined {
    return this.input.handOff?.cachedTokens ?? this.localTokens;
  }

  blockKey(index: number): number {
    return this.keys.key(index);
  }

  onToken(index: number, atMs: number): void {
    this.generatedTokens += 1;
    const tell = (): void => {
      this.sink.onToken(this, index, atMs);
      this.firstTokenAtMs ??= atMs;
      this.lastTokenAtMs = atMs;
    };
    if (this.input.handOff?.defersAnswer === true) this.deferred.push(tell);
    else tell();
  }

  onEnd(outcome: EngineOutcome): void {
    const { handOff } = this.input;
    const tell = (): void => {
      for (const each of this.deferred.splice(0)) each();
      this.sink.onEnd(this, outcome);
    };
    if (outcome.kind === 'finished' && handOff?.finished !== undefined) {
      handOff.finished(outcome, tell);
    } else {
      handOff?.cancel();
      tell();
    }
  }
}
