import type { ListenAddress } from '../../lib/http-listen';
import type { HandOffStats } from '../kv/hand-off-stats';
import type { KvEndpoint } from '../kv/kv-fabric';
import type { KvHandOff } from '../kv/kv-hand-off';
import { TransferRooms } from '../kv/transfer-rooms';
import { bootstrapPages } from './bootstrap-pages';
import type { SglangTransfer, SglangTransferOptions, TransferRequest } from './sglang-transfer';

/**
 * SGLang's prefill: a request waits until decode comes for its room, is computed, and is answered when decode has its KV. Recorded:
 * when decode never comes it waits until its client gives up.
 */
export class SglangPrefill implements SglangTransfer {
  readonly role = 'prefill';
  private readonly rooms: TransferRooms;
  private endpoint: KvEndpoint | undefined;

  private constructor(private readonly options: SglangTransferOptions) {
    this.rooms = new TransferRooms(options.clock, Number.POSITIVE_INFINITY);
  }

  /** @throws KvasirError `listen/…` when its bootstrap server cannot listen. */
  static async start(options: SglangTransferOptions): Promise<SglangPrefill> {
    const prefill = new SglangPrefill(options);
    prefill.endpoint = await options.fabric.listen(
      options.address,
      (call) => prefill.rooms.receive(call),
      bootstrapPages(options, () => prefill.endpoint!),
    );
    return prefill;
  }

  get address(): ListenAddress {
    return this.endpoint!;
  }

  /** The default, `follow_bootstrap_room`. */
  rankOf(room: string): number {
    return Number(BigInt(room) % BigInt(this.options.plan.dataParallelSize ?? 1));
  }

  handOff({ room }: TransferRequest): KvHandOff {
    return {
      retainsBlocks: true,
      defersAnswer: true,
      whenReady: (start) => this.rooms.open(room, start),
      finished: ({ retained, cachedTokens }, proceed) => this.rooms.offer(room, retained!, cachedTokens, proceed),
      cancel: () => this.rooms.close(room),
    };
  }

  waiting(): ReturnType<SglangTransfer['waiting']> {
    return this.rooms.waiting();
  }

  stats(): HandOffStats {
    return this.rooms.stats();
  }

  close(): void {
    this.endpoint?.close();
    this.rooms.closeAll();
  }
}
