import type { Clock } from '../../lib/clock';
import type { RetainedBlocks } from '../retained-blocks';
import type { HandOffStats } from './hand-off-stats';
import { HeldBlocks } from './held-blocks';
import type { KvCall } from './kv-fabric';

interface Room {
  /** Decode, which waits for the KV. */
  call?: KvCall;
  /** Tokens that prefill had cached; known when the KV is there. */
  cachedTokens?: number;
  onJoined?: () => void;
  onReceived?: () => void;
}

/** Where the two legs of a transfer meet at prefill, whichever comes first. */
export class TransferRooms {
  private readonly rooms = new Map<string, Room>();
  private readonly held: HeldBlocks;

  /** @param keepMs how long KV is kept that nobody fetches; infinite: until its own leg ends. */
  constructor(clock: Clock, keepMs: number) {
    this.held = new HeldBlocks(clock, keepMs);
  }

  /** Prefill's leg is there. @param onJoined called once, when decode's is. */
  open(transfer: string, onJoined: () => void): void {
    const room = this.room(transfer);
    if (room.call !== undefined) onJoined();
    else room.onJoined = onJoined;
  }

  /** Prefill is done. @param onReceived called when decode has the KV. */
  offer(transfer: string, retained: RetainedBlocks, cachedTokens: number, onReceived: () => void = () => undefined): void {
    const room = this.room(transfer);
    this.held.hold(transfer, retained);
    room.cachedTokens = cachedTokens;
    room.onReceived = onReceived;
    room.call?.answer({ kind: 'ok', cachedTokens });
  }

  /** Prefill's leg ended without decode. */
  close(transfer: string): void {
    this.held.drop(transfer);
    this.rooms.delete(transfer);
  }

  closeAll(): void {
    this.held.dropAll();
    this.rooms.clear();
  }

  /** Messages of decode. */
  receive(call: KvCall): void {
    const { message } = call;
    if (message.kind === 'await') {
      this.join(message.transfer, call);
    } else if (message.kind === 'received') {
      const room = this.rooms.get(message.transfer);
      this.rooms.delete(message.transfer);
      this.held.take(message.transfer);
      room?.onReceived?.();
      call.answer({ kind: 'ok' });
    } else {
      call.answer({ kind: message.kind === 'hello' ? 'ok' : 'refused' });
    }
  }

  /** Transfers for which prefill waits: for decode to come, and for decode to have the KV. */
  waiting(): { readonly forDecode: number; readonly forTransfer: number } {
    let [forDecode, forTransfer] = [0, 0];
    for (const { onJoined, onReceived } of this.rooms.values()) {
      if (onReceived !== undefined) forTransfer += 1;
      else if (onJoined !== undefined) forDecode += 1;
    }
    return { forDecode, forTransfer };
  }

  stats(): HandOffStats {
    return this.held.stats();
  }

  private join(transfer: string, call: KvCall): void {
    const room = this.room(transfer);
    if (room.cachedTokens !== undefined) {
      call.answer({ kind: 'ok', cachedTokens: room.cachedTokens });
      return;
    }
    room.call = call;
    call.whenGone(() => {
      if (room.call !== call) return;
      delete room.call;
      if (room.onJoined === undefined && room.onReceived === undefined) this.rooms.delete(transfer);
    });
    room.onJoined?.();
    delete room.onJoined;
  }

  private room(transfer: string): Room {
    let room = this.rooms.get(transfer);
    if (room === undefined) {
      room = {};
      this.rooms.set(transfer, room);
    }
    return room;
  }
}
