import type { EngineWindow } from './engine-window';
import type { TrafficMix } from './step-model';

/** Time in which requests that wait now are to be served besides what arrives. An assumption. */
export const DRAIN_SECONDS = 60;

/** What engines of one pool were asked for. */
export interface Traffic {
  /** Requests per second that arrived. */
  readonly arrivals: number;
  /** Requests per second that ended. */
  readonly served: number;
  /** Requests that wait. */
  readonly waiting: number;
}

/** Arrivals of one engine: what ended, and what more of them is in the engine than before. */
export function trafficOf({ finished, running, waiting, spanMs }: EngineWindow): Traffic {
  const seconds = spanMs / 1000;
  const grown = running[1] + waiting[1] - running[0] - waiting[0];
  return { arrivals: Math.max(0, finished + grown) / seconds, served: finished / seconds, waiting: waiting[1] };
}

/** Requests per second that replicas are needed for. */
export function demandRate({ arrivals, waiting }: Traffic): number {
  return arrivals + waiting / DRAIN_SECONDS;
}

/** Weight that a mix keeps for each request that ends. */
const MIX_MEMORY_REQUESTS = 500;

/** Token counts of requests so far, older ones weighing less. Plain data. */
export interface MixMemory {
  readonly requests: number;
  readonly prefillTokens: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export const EMPTY_MIX: MixMemory = { requests: 0, prefillTokens: 0, promptTokens: 0, outputTokens: 0 };

/** `memory` with the requests of one more window; a few hundred requests replace what was known. */
export function addTraffic(memory: MixMemory, { finished, prefillTokens, promptTokens, outputTokens }: EngineWindow): MixMemory {
  if (finished <= 0) return memory;
  const keep = 0.5 ** (finished / MIX_MEMORY_REQUESTS);
  return {
    requests: keep * memory.requests + finished,
    prefillTokens: keep * memory.prefillTokens + prefillTokens,
    promptTokens: keep * memory.promptTokens + promptTokens,
    outputTokens: keep * memory.outputTokens + outputTokens,
  };
}

/** Requests to have seen before their mix is believed. */
const LEAST_REQUESTS = 20;

/** @returns undefined when too few requests were seen. */
export function mixOf({ requests, prefillTokens, promptTokens, outputTokens }: MixMemory): TrafficMix | undefined {
  if (requests < LEAST_REQUESTS) return undefined;
  return {
    prefillTokens: prefillTokens / requests,
    promptTokens: promptTokens / requests,
    outputTokens: Math.max(1, outputTokens / requests),
  };
}
