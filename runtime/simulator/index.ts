/** `kvasir/simulator`: engines without GPUs, for tests of what talks to engines, and the clocks and randomness that they take. */

export type { Clock, Timer } from '../lib/clock';
export { type Random, seededRandom } from '../lib/random';
export { VirtualClock } from '../lib/virtual-clock';
export { wallClock } from '../lib/wall-clock';
export { approximateTokenizer } from './approximate-tokenizer';
export { BlockKeys, type KeyNamespace } from './block-keys';
export { type EngineStats, sumStats } from './core/engine-stats';
export { EngineCore, type EngineCoreOptions, type EngineObserver, type StepReport, type Submission } from './engine-core';
export { type EngineLimits, engineLimits } from './engine-limits';
export type { EngineOutcome, EngineRequest } from './engine-request';
export type { Faults } from './faults';
export { huggingFaceTokenizer } from './huggingface-tokenizer';
export type { HandOffStats } from './kv/hand-off-stats';
export type { KvAnswer, KvCall, KvEndpoint, KvFabric, KvMessage, KvPage, KvPages, KvReceiver, KvStore } from './kv/kv-fabric';
export { DEFAULT_KV_LINK_GBPS, type KvLink, transferMs } from './kv/kv-link';
export { MemoryFabric } from './kv/memory-fabric';
export { SocketFabric } from './kv/socket-fabric';
export { rankPlan } from './rank-plan';
export type { FetchResult, RemoteKv } from './remote-kv';
export type { RetainedBlocks } from './retained-blocks';
export type { RunningEngine } from './running-engine';
export { type StartEngineOptions, startEngine } from './start-engine';
export type { ChatMessage, ChatOptions, Tokenizer } from './tokenizer';
