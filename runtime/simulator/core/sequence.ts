import type { EngineRequest } from '../engine-request';

/** What the core knows of one unfinished request. */
export interface Sequence {
  readonly request: EngineRequest;
  readonly arrivedAtMs: number;
  /** Blocks in order of position, each used by this sequence once. */
  blocks: number[];
  /** Blocks of `blocks` that are findable in the prefix cache. */
  cachedBlocks: number;
  /** Tokens whose KV exists. Behind `promptTokens + generatedTokens` by what still has to be computed. */
  computedTokens: number;
  generatedTokens: number;
  /** Tokens of the step that runs now; 0 when it is not part of it. */
  scheduledTokens: number;
  /** Prompt tokens found in the cache when it was first scheduled. */
  hitTokens: number;
  /** Of `hitTokens`, those that another tenant's request had put there. */
  foreignTokens: number;
  /** Prompt tokens whose KV came from outside. */
  remoteTokens: number;
  /** Its remote KV: `none` when it brings none, or when the cache or a preemption made it useless. */
  load: 'none' | 'wanted' | 'underway' | 'arrived';
  wasScheduled: boolean;
  preemptions: number;
  state: 'waiting' | 'running' | 'ended';
}

export function newSequence(request: EngineRequest, arrivedAtMs: number): Sequence {
  return {
    request,
    arrivedAtMs,
    blocks: [],
    cachedBlocks: 0,
    computedTokens: 0,
    generatedTokens: 0,
    scheduledTokens: 0,
    hitTokens: 0,
    foreignTokens: 0,
    remoteTokens: 0,
    load: request.remoteKv === undefined ? 'none' : 'wanted',
    wasScheduled: false,
    preemptions: 0,
    state: 'waiting',
  };
}

/** Tokens of prompt and output so far; all but the newest have KV while it decodes. */
export function knownTokens(sequence: Sequence): number {
  return sequence.request.promptTokens + sequence.generatedTokens;
}
