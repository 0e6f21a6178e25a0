import type { KvTransferPlan } from '../../../src/expand/kv-transfer-plan';
import type { Clock, Timer } from '../../lib/clock';
import { BlockKeys } from '../block-keys';
import type { JsonObject } from '../http/json-body';
import { type HandOffStats, NO_HAND_OFFS } from '../kv/hand-off-stats';
import type { KvFabric } from '../kv/kv-fabric';
import { type KvLink, transferMs } from '../kv/kv-link';
import { TransferMeter } from '../kv/transfer-meter';
import type { HandOffRequest, PreparedHandOff, VllmConnector } from './vllm-connector';

export interface StoreOptions {
  readonly transfer: Extract<KvTransferPlan, { readonly connector: 'store' }>;
  readonly clock: Clock;
  readonly fabric: KvFabric;
  readonly link: KvLink;
}

/**
 * LMCache with a remote store, and vLLM's ExampleConnector: every engine writes the KV of prompts into the store and reads what is
 * there. Requests carry nothing for it and answers say nothing.
 */
export class StoreConnector implements VllmConnector {
  readonly meter = new TransferMeter();

  constructor(private readonly options: StoreOptions) {}

  prepare(_params: JsonObject | undefined, { promptIds, blockSize, namespace }: HandOffRequest): PreparedHandOff {
    const { transfer, fabric, clock, link } = this.options;
    const store = fabric.store(transfer.store);
    const keys = new BlockKeys(blockSize, namespace, (position) => promptIds[position]!);
    const wholeBlocks = Math.floor(promptIds.length / blockSize);
    const blocksPerChunk = Math.max(1, Math.ceil((transfer.chunkTokens ?? blockSize) / blockSize));
    const chunks = Math.floor(wholeBlocks / blocksPerChunk);
    const chunkKey = (chunk: number): number => keys.key((chunk + 1) * blocksPerChunk - 1);
    let timer: Timer | undefined;
    let found = 0;
    let cachedTokens: number | undefined;
    const cancel = (): void => timer?.cancel();
    return {
      kind: 'hand-off',
      handOff: {
        get cachedTokens() {
          return cachedTokens;
        },
        remoteKv: {
          tokens: () => {
            let there = 0;
            while (there < chunks && store.has(chunkKey(there))) there += 1;
            // The last token is computed here, so that its block is of no use.
            const most = Math.floor((promptIds.length - 1) / blockSize) * blockSize;
            found = Math.min(there * blocksPerChunk * blockSize, most);
            return found;
          },
          fetch: (tokens, done) => {
            const takesMs = transferMs(link, tokens);
            timer = clock.after(takesMs, () => {
              cachedTokens = found;
              this.meter.transferred(takesMs, tokens * link.bytesPerToken);
              done('arrived');
            });
          },
          cancel,
        },
        finished: (_outcome, proceed) => {
          for (let chunk = 0; chunk < chunks; chunk++) store.add(chunkKey(chunk));
          proceed();
        },
        cancel,
      },
    };
  }

  stats(): HandOffStats {
    return NO_HAND_OFFS;
  }

  close(): void {}
}
