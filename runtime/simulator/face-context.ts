import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EnginePlan } from '../../src/expand/engine-plan';
import type { Clock } from '../lib/clock';
import type { Random } from '../lib/random';
import type { AnswerWriter } from './answer/answer-writer';
import type { EngineCore, StepReport } from './engine-core';
import type { EngineLimits } from './engine-limits';
import type { EngineRank } from './engine-rank';
import type { EngineOutcome, EngineRequest } from './engine-request';
import type { FaultState } from './faults';
import type { Generation } from './generation';
import type { Routes } from './http/exchange';
import type { RunningRequests } from './running-requests';
import type { SglangTransfer } from './sglang/sglang-transfer';
import type { Tokenizer } from './tokenizer';

/** Where the process is in its life. */
export type Phase =
  | 'serving'
  /** Told to end, and lets running requests finish. */
  | 'draining'
  /** Told to end with no time for running requests: they get nothing more, not even an end. */
  | 'stalled'
  /** The engine core died; the web server has not ended yet. */
  | 'crashed';

/** What a face counts. Also observes the cores of its ranks. */
export interface FaceMetrics {
  arrived(generation: Generation): void;
  token(generation: Generation, atMs: number): void;
  ended(generation: Generation, outcome: EngineOutcome): void;
  answered(method: string, handler: string, status: number): void;
  onAdmitted(rank: number, request: EngineRequest, atMs: number, cachedTokens: number): void;
  onStep(rank: number, step: StepReport): void;
  /** The text of `/metrics` now. */
  render(): string;
}

/** What the endpoints of a face work with. */
export interface FaceContext {
  readonly plan: EnginePlan;
  readonly limits: EngineLimits;
  /** The first rank's, which is like all others in its limits. */
  readonly core: EngineCore;
  readonly ranks: readonly EngineRank[];
  /** Requests that can be aborted by their id. */
  readonly requests: RunningRequests;
  /** SGLang: its role in disaggregation. */
  readonly transfer?: SglangTransfer;
  readonly tokenizer: Tokenizer;
  readonly writer: AnswerWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: FaultState;
  readonly metrics: FaceMetrics;
  /** Adapters served now, name → path; loading and unloading changes it. */
  readonly adapters: Map<string, string>;
  /** Whether an adapter lies at a path. */
  readonly adapterExists: (path: string) => boolean;
  phase: Phase;
  /** Has the engine core die, as by a request that it cannot take. */
  crash(): void;
}

/** An engine's web API. */
export interface Face {
  readonly routes: Routes;
  /** Answers what never reaches an endpoint: preflights, and requests without the API key. @returns true when it answered. */
  guard(request: IncomingMessage, response: ServerResponse, path: string): boolean;
}
