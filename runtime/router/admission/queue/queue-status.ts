import type { QueueLane } from './queue-lane';
import type { Waiting } from './waiting';

/** Requests that are listed one by one; the others are counted only. */
const MOST_LISTED = 100;
/** Lanes that are listed: models and rules that requests wait for. */
const MOST_LANES = 100;

/** Why nobody of a lane goes on: no pod has room; none runs, and one is woken; the model has as many requests at endpoints as it may. */
export type LaneReason = 'full' | 'asleep' | 'max-concurrent' | 'next';

/** Requests that wait for the same pods. */
export interface LaneStatus {
  readonly model: string;
  /** `namespace/name` of the ModelServers that may take them. */
  readonly servers: readonly string[];
  /** Id of the only endpoint that can. */
  readonly only?: string;
  readonly reason: LaneReason;
  readonly requests: number;
  /** Prompt tokens of those requests, estimated. */
  readonly tokens: number;
  readonly longestMs: number;
  /** How long a newcomer of the last class would wait. */
  readonly expectedMs: number;
}

/** One request that waits. No prompt text, no credentials. */
export interface WaitingStatus {
  readonly requestId: string;
  readonly model: string;
  /** Absent where there are no classes. */
  readonly priorityClass?: string;
  readonly user?: string;
  readonly tenant?: string;
  readonly waitedMs: number;
  readonly tokens: number;
  readonly bytes: number;
  readonly streams: boolean;
}

/** What waits in the router, for what, how long, and why. */
export interface QueueStatus {
  readonly requests: number;
  readonly bytes: number;
  readonly lanes: readonly LaneStatus[];
  /** Oldest first; at most 100. */
  readonly waiting: readonly WaitingStatus[];
  /** Requests and lanes that are counted and not listed. */
  readonly leftOff: { readonly requests: number; readonly lanes: number };
}

export interface QueueStatusFacts {
  readonly all: Iterable<Waiting>;
  readonly bytes: number;
  readonly nowMs: number;
  readonly reasonOf: (lane: QueueLane) => LaneReason;
  readonly expectedMsOf: (lane: QueueLane) => number;
}

export function queueStatus({ all, bytes, nowMs, reasonOf, expectedMsOf }: QueueStatusFacts): QueueStatus {
  const waiting = [...all].sort((a, b) => a.order - b.order);
  const byLane = new Map<QueueLane, { requests: number; tokens: number; sinceMs: number }>();
  for (const { path, tokens, sinceMs } of waiting) {
    const lane = byLane.get(path) ?? { requests: 0, tokens: 0, sinceMs };
    byLane.set(path, { requests: lane.requests + 1, tokens: lane.tokens + tokens, sinceMs: Math.min(lane.sinceMs, sinceMs) });
  }
  const lanes = [...byLane].sort(([, a], [, b]) => b.requests - a.requests || a.sinceMs - b.sinceMs);
  return {
    requests: waiting.length,
    bytes,
    lanes: lanes.slice(0, MOST_LANES).map(([lane, { requests, tokens, sinceMs }]) => ({
      model: lane.model,
      servers: lane.servers,
      ...(lane.only !== undefined && { only: lane.only }),
      reason: reasonOf(lane),
      requests,
      tokens,
      longestMs: nowMs - sinceMs,
      expectedMs: expectedMsOf(lane),
    })),
    waiting: waiting.slice(0, MOST_LISTED).map((each) => statusOf(each, nowMs)),
    leftOff: { requests: Math.max(0, waiting.length - MOST_LISTED), lanes: Math.max(0, lanes.length - MOST_LANES) },
  };
}

function statusOf({ arrival, path, priority, sinceMs, tokens, bytes }: Waiting, nowMs: number): WaitingStatus {
  const { incoming, identity, request } = arrival;
  return {
    requestId: incoming.trace.requestId,
    model: path.model,
    ...(priority.name !== undefined && { priorityClass: priority.name }),
    ...(identity.user !== undefined && { user: identity.user }),
    ...(identity.tenant !== undefined && { tenant: identity.tenant }),
    waitedMs: nowMs - sinceMs,
    tokens,
    bytes,
    streams: request.parsed.streams,
  };
}
