import type { Socket } from 'node:net';
import type { Clock } from '../../../lib/clock';
import { MOST_FRAME_BYTES, type SiblingId } from './frame';
import { type Handshake, MOST_HANDSHAKE_BYTES } from './handshake';
import { framed, MessageReader } from './message-stream';

export interface SiblingConnectionOptions {
  readonly socket: Socket;
  readonly handshake: Handshake;
  readonly clock: Clock;
  readonly onLinked: (sibling: SiblingId) => void;
  readonly onFrame: (frame: Buffer) => void;
  /** The other end is this router. */
  readonly onSelf: () => void;
  /** The other end does not have the secret, or speaks something else. */
  readonly onRefused: () => void;
  readonly onEnd: () => void;
}

/** From the connection to the end of the handshake. */
const HANDSHAKE_MS = 2_000;
/** Siblings are heard of four times a second. */
const IDLE_MS = 5_000;
/** A sibling that does not read for so much is told no more on this connection. */
const MOST_WAITING_BYTES = 8 * 2 ** 20;

/** A connection to a sibling, whoever made it. Frames go both ways once both have proved who they are. */
export class SiblingConnection {
  private readonly reader = new MessageReader(MOST_HANDSHAKE_BYTES);
  private sibling: SiblingId | undefined;

  constructor(private readonly options: SiblingConnectionOptions) {
    const { socket, handshake, clock, onEnd } = options;
    const deadline = clock.after(HANDSHAKE_MS, () => {
      if (this.sibling === undefined) socket.destroy();
    });
    socket.setNoDelay(true);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    // What went wrong does not matter: it is tried again.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      if (!this.reader.push(chunk, (message) => this.take(message))) this.refuse();
    });
    socket.on('close', () => {
      deadline.cancel();
      onEnd();
    });
    if (handshake.first !== undefined) socket.write(framed(handshake.first));
  }

  send(frame: Buffer): void {
    const { socket } = this.options;
    if (socket.writableLength > MOST_WAITING_BYTES) socket.destroy();
    else if (socket.writable) socket.write(framed(frame));
  }

  /** Ends it after what was sent. */
  end(): void {
    this.options.socket.end(() => this.options.socket.destroy());
  }

  destroy(): void {
    this.options.socket.destroy();
  }

  private take(message: Buffer): void {
    const { socket, handshake, onFrame, onSelf, onLinked } = this.options;
    if (socket.destroyed) return;
    if (this.sibling !== undefined) {
      onFrame(message);
      return;
    }
    const step = handshake.step(message);
    switch (step.kind) {
      case 'more':
        socket.write(framed(step.send));
        return;
      case 'linked':
        this.sibling = step.sibling;
        this.reader.mostBytes = MOST_FRAME_BYTES;
        if (step.send !== undefined) socket.write(framed(step.send));
        onLinked(step.sibling);
        return;
      case 'self':
        onSelf();
        socket.destroy();
        return;
      case 'refused':
        this.refuse();
    }
  }

  private refuse(): void {
    if (this.options.socket.destroyed) return;
    this.options.onRefused();
    this.options.socket.destroy();
  }
}
