/** Where something is that a client comes back to, after the requests that made it. */
export type PlaceRecord =
  /** A sticky session. */
  | {
      readonly kind: 'session';
      /** Digest of its name, its route and whose it is. */
      readonly key: string;
      /** For how long from now on it is remembered, in milliseconds. */
      readonly ttlMs: number;
      /** The target of its route. */
      readonly target: string;
      readonly endpoint: string;
    }
  /** A response that an engine or a provider keeps. */
  | {
      readonly kind: 'response';
      readonly id: string;
      readonly ttlMs: number;
      /** Model that its client named. */
      readonly model: string;
      /** Who may ask for it; undefined for nobody in particular. */
      readonly tenant: string | undefined;
      /** `namespace/name` of its ModelRoute. */
      readonly route: string;
      readonly target: string;
      readonly isAdapter: boolean;
      readonly endpoint: string;
    }
  /** A response that was deleted. */
  | { readonly kind: 'forgotten'; readonly id: string };
