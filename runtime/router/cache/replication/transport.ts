import type { SiblingId } from './frame';

/** Takes a frame that arrived; whoever sent it. */
export type FrameListener = (frame: Buffer) => void;

/**
 * Carries frames between router replicas. Nothing waits for it, and what cannot be sent now is lost: who misses it sees that by the
 * sequence.
 */
export interface ReplicationTransport {
  /** Begins. Called once. */
  start(self: SiblingId, listener: FrameListener): void;
  /** To all siblings. */
  broadcast(frame: Buffer): void;
  sendTo(sibling: SiblingId, frame: Buffer): void;
  /** Sends what it has, and ends. */
  close(): Promise<void>;
}
