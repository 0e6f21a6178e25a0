import type { ListenAddress } from '../../lib/http-listen';
import type { KeyNamespace } from '../block-keys';
import type { JsonObject } from '../http/json-body';
import type { HandOffStats } from '../kv/hand-off-stats';
import type { KvHandOff } from '../kv/kv-hand-off';
import type { TransferMeter } from '../kv/transfer-meter';

/** What a connector is told of one generation. */
export interface HandOffRequest {
  /** The engine's own name of it. */
  readonly id: string;
  readonly promptIds: readonly number[];
  readonly blockSize: number;
  readonly namespace: KeyNamespace;
}

/** What `kv_transfer_params` mean to one engine. */
export type PreparedHandOff =
  | { readonly kind: 'plain' }
  | { readonly kind: 'hand-off'; readonly handOff: KvHandOff }
  /** Parameters that end the real engine. */
  | { readonly kind: 'fatal' };

export const PLAIN: PreparedHandOff = { kind: 'plain' };

/** One of vLLM's KV connectors. */
export interface VllmConnector {
  prepare(params: JsonObject | undefined, request: HandOffRequest): PreparedHandOff;
  /** What was transferred to this engine. */
  readonly meter: TransferMeter;
  /** Where its side channel or bootstrap server listens. */
  readonly address?: ListenAddress | undefined;
  stats(): HandOffStats;
  close(): void;
}
