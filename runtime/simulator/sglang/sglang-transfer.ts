import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { KvTransferPlan } from '../../../src/expand/kv-transfer-plan';
import type { Clock } from '../../lib/clock';
import type { ListenAddress } from '../../lib/http-listen';
import type { HandOffStats } from '../kv/hand-off-stats';
import type { KvFabric } from '../kv/kv-fabric';
import type { KvHandOff } from '../kv/kv-hand-off';
import type { KvLink } from '../kv/kv-link';

/** What a request tells of one transfer. */
export interface TransferRequest {
  /** `bootstrap_host`; undefined when the request has none. */
  readonly host: string | undefined;
  /** `bootstrap_port`; undefined for the engine's own setting. */
  readonly port: number | undefined;
  /** `bootstrap_room` as it was written: it may exceed what a double holds. */
  readonly room: string;
  /** The request's id, which error messages repeat. */
  readonly rid: string;
  readonly promptTokens: number;
}

/** The role of an SGLang engine in disaggregation. */
export interface SglangTransfer {
  readonly role: 'prefill' | 'decode';
  /** Data-parallel rank that has to prefill it; undefined: any. */
  rankOf(room: string): number | undefined;
  handOff(request: TransferRequest): KvHandOff;
  /** Requests by what they wait for, as metrics show them. */
  waiting(): { readonly forDecode: number; readonly forTransfer: number };
  /** Where its bootstrap server listens; prefill only. */
  readonly address?: ListenAddress;
  stats(): HandOffStats;
  close(): void;
}

export interface SglangTransferOptions {
  readonly plan: EnginePlan;
  readonly transfer: Extract<KvTransferPlan, { readonly connector: 'sglang' }>;
  /** Where prefill's bootstrap server listens. */
  readonly address: ListenAddress;
  /** Port of the engine's web API. */
  readonly httpPort: () => number;
  readonly pageSize: number;
  readonly clock: Clock;
  readonly fabric: KvFabric;
  readonly link: KvLink;
}
