import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { ClusterKey } from '../../runtime/router/cache/replication/cluster-key';
import { openFrame, sealFrame } from '../../runtime/router/cache/replication/frame';
import { Handshake } from '../../runtime/router/cache/replication/handshake';
import { framed, MessageReader } from '../../runtime/router/cache/replication/message-stream';
import type { ReplicationRecord } from '../../runtime/router/cache/replication/record';
import { RecordWriter } from '../../runtime/router/cache/replication/record-writer';

/** A sibling router over a real connection that does what a test says, and nothing else. */
export class FakeSibling {
  readonly id = randomBytes(8).toString('hex');
  isLinked = false;
  isEnded = false;
  private readonly key: ClusterKey;
  private readonly socket: Socket;
  private sequence = 0;

  /** @param share what it says to have in flight when it is asked. */
  constructor(
    host: string,
    port: number,
    secret: string,
    private readonly share: readonly ReplicationRecord[] = [],
  ) {
    this.key = new ClusterKey(Buffer.from(secret));
    this.socket = connect({ host, port });
    const handshake = new Handshake(this.key, this.id, 'connects');
    const reader = new MessageReader(1_000_000);
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isEnded = true;
    });
    this.socket.on('data', (chunk: Buffer) => {
      reader.push(chunk, (message) => {
        if (this.isLinked) {
          this.hear(message);
          return;
        }
        const step = handshake.step(message);
        if (step.kind === 'more') this.write(step.send);
        this.isLinked = step.kind === 'linked';
      });
    });
  }

  /** The next delta. */
  tell(...records: readonly ReplicationRecord[]): void {
    this.sequence += 1;
    this.write(sealFrame(this.key, { ...this.head(), kind: 'delta', sequence: this.sequence, records: written(records) }));
  }

  /** A message, signed or not. */
  write(message: Buffer): void {
    this.socket.write(framed(message));
  }

  stopReading(): void {
    this.socket.pause();
  }

  /** Its machine is gone. */
  vanish(): void {
    this.socket.resetAndDestroy();
  }

  private hear(message: Buffer): void {
    const opened = openFrame(this.key, message);
    if (opened.kind !== 'frame' || opened.frame.kind !== 'ask') return;
    const { nonce } = opened.frame;
    const { sequence } = this;
    this.write(sealFrame(this.key, { ...this.head(), kind: 'share', nonce, sequence, records: written(this.share) }));
  }

  private head(): { readonly sender: string; readonly sentMs: number } {
    return { sender: this.id, sentMs: Date.now() };
  }
}

function written(records: readonly ReplicationRecord[]): Buffer {
  const writer = new RecordWriter();
  for (const each of records) writer.write(each);
  return writer.take();
}
