import type { EngineOutcome } from '../engine-request';
import type { RemoteKv } from '../remote-kv';

/** The part of one generation in handing KV from engine to engine. */
export interface KvHandOff {
  readonly remoteKv?: RemoteKv;
  readonly retainsBlocks?: boolean;
  /** Whether tokens and end wait for `finished`'s `proceed`. */
  readonly defersAnswer?: boolean;
  /** Prompt tokens that usage shows as cached, where the hand-off tells; known when the first token is. */
  readonly cachedTokens?: number;
  /** Why remote KV did not arrive, as the client is told. */
  readonly failure?: string;
  /** Calls `start` when the core may have the request; absent: at once. */
  whenReady?(start: () => void): void;
  /** The core finished it. Calls `proceed` when the answer may leave. */
  finished?(outcome: EngineOutcome, proceed: () => void): void;
  /** What the answer tells for the next leg. */
  params?(): Readonly<Record<string, unknown>> | null;
  /** The client left, or the engine failed, before the answer was complete. */
  cancel(): void;
}
