import type { PdPlace } from '../endpoints/pd-place';
import type { HandOffOrder } from './hand-off-machine';

export type ConnectorName = 'http' | 'nixl' | 'mooncake' | 'sglang';

/** A prefill pod as a connector sees it. */
export interface PrefillTarget {
  readonly id: string;
  readonly host: string;
  readonly place: PdPlace;
}

/** What decode's request is told of prefill's KV. */
export type DecodeMembers =
  /** Members of a JSON object as text, without braces; '' when decode finds the KV by itself. */
  | { readonly kind: 'members'; readonly text: string }
  /** Prefill handed nothing over that decode could use: it computes the prompt itself. */
  | {
      readonly kind: 'none';
      readonly reason: string;
      /** Whether prefill keeps the KV all the same. */
      readonly keepsKv: boolean;
    };

/** The terms of one hand-off. They are made for it alone and never used again. */
export interface HandOffTerms {
  /** Members that prefill's request gets, as text without braces; '' for none. */
  readonly prefillMembers: string;
  /** Name, value, name, value. */
  readonly prefillHeaders: readonly string[];
  /** @param answer prefill's, where decode is asked after it. */
  decodeMembers(answer: Buffer | undefined): DecodeMembers;
}

/** How one kind of engine hands KV from prefill to decode. */
export interface HandOffConnector {
  readonly name: ConnectorName;
  readonly order: HandOffOrder;
  /** Whether decode answers a request that no prefill has seen. */
  readonly canSkipPrefill: boolean;
  /** How a request with several prompts or choices goes: in one hand-off, or whole to decode, where the terms are those of one generation. */
  readonly several: 'one-hand-off' | 'whole';
  /** How long prefill keeps KV that decode does not fetch, in ms; undefined: not longer than its own connection stands. */
  leaseMs(place: PdPlace): number | undefined;
  /** @param generations prompts × choices, ≥ 1. @throws when prefill's pod cannot be asked for what the terms need. */
  open(prefill: PrefillTarget, generations: number): HandOffTerms | Promise<HandOffTerms>;
  /** Something went wrong with a prefill pod, or it is gone: what was learned of it may no longer hold. */
  forget(prefillId: string): void;
}
