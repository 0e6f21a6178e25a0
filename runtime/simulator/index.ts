/** `kvasir/simulator`: engines without GPUs, for tests of what talks to engines, and the clocks and randomness that they take. */

export type { Clock, Timer } from '../lib/clock';
export { type Random, seededRandom } from '../lib/random';
export { VirtualClock } from '../lib/virtual-clock';
export { wallClock } from '../lib/wall-clock';
export { approximateTokenizer } from './approximate-tokenizer';
export { BlockKeys, type KeyNamespace } from './block-keys';
export type { EngineStats } from './core/engine-stats';
export { EngineCore, type EngineCoreOptions, type EngineObserver, type StepReport, type Submission } from './engine-core';
export { type EngineLimits, engineLimits } from './engine-limits';
export type { EngineOutcome, EngineRequest } from './engine-request';
export type { Faults } from './faults';
export { huggingFaceTokenizer } from './huggingface-tokenizer';
export type { RunningEngine } from './running-engine';
export { type StartEngineOptions, startEngine } from './start-engine';
export type { ChatMessage, ChatOptions, Tokenizer } from './tokenizer';
