/** How a write ended. Only `applied` and `unchanged` leave the cluster as wished. */
export type WriteOutcome =
  | { readonly kind: 'applied'; readonly version: string }
  | { readonly kind: 'unchanged'; readonly version: string }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'throttled'; readonly afterMs: number }
  | { readonly kind: 'unavailable'; readonly message: string };

/** How a read of one object ended. */
export type ReadOutcome<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'gone' }
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'throttled'; readonly afterMs: number }
  | { readonly kind: 'unavailable'; readonly message: string };
