/** A pod as a place to send requests to: an address and an identity, never an address alone, since addresses are reused. */
export interface Endpoint {
  /** `namespace/name#uid`. */
  readonly id: string;
  /** Small dense number that is reused only after everything kept under it was purged; typed arrays are keyed by it. */
  readonly slot: number;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly host: string;
  readonly port: number;
  /** @default 'http' */
  readonly protocol?: 'https';
  readonly engine: 'vLLM' | 'SGLang';
  /** In currency units; undefined when nobody knows. */
  readonly costPerHour?: number | undefined;
}
