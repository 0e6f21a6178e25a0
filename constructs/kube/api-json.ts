import type { k8s } from 'cdk8s-plus-28';

/**
 * A typed value of cdk8s-plus as the API has it: quantities, and ports by number or name, as what they hold. To write such a value down
 * needs no conversion, which in the library copies each map once for each of its fields. Only for types whose fields the library calls
 * as Kubernetes does, which all but a few are (`hostIpc` for `hostIPC` is not).
 */
export type ApiJson<T> = T extends readonly (infer Element)[]
  ? readonly ApiJson<Element>[]
  : T extends object
    ? // Both ways: a header has a value too, and a name.
      [T, k8s.Quantity] extends [k8s.Quantity, T]
      ? string | number
      : { readonly [Field in keyof T]: ApiJson<T[Field]> }
    : T;
