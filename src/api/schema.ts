import { type Static, type TObject, type TOptional, type TProperties, type TSchema, type TUnsafe, Type } from '@sinclair/typebox';

/**
 * Building blocks of the kinds' schemas. They write JSON Schema in the form that Kubernetes calls structural, so that the CRD is
 * the schema itself: enumerations are `enum` (not `anyOf`), maps are `additionalProperties`, int-or-string carries its marker.
 */

declare const filled: unique symbol;

/** A field that may be left out and is always there in a decoded object: by a schema default, or by Kthena's admission defaults. */
export type TFilled<S extends TSchema> = TOptional<S> & { readonly [filled]: true };

/** An object with free keys and values of one schema. */
export interface TMap<V extends TSchema> extends TSchema {
  static: Record<string, Static<V, this['params']>>;
  type: 'object';
  additionalProperties: V;
}

/** A list; narrower than TypeBox's own so that its item schema can be inferred. */
export interface TList<I extends TSchema> extends TSchema {
  static: Static<I, this['params']>[];
  type: 'array';
  items: I;
}

type IsOptional<S> = S extends TOptional<TSchema> ? true : false;
type IsFilled<S> = S extends { readonly [filled]: true } ? true : false;
type OptionalKeys<P extends TProperties> = { [K in keyof P]: IsOptional<P[K]> extends true ? K : never }[keyof P];
type UnfilledKeys<P extends TProperties> = {
  [K in keyof P]: IsOptional<P[K]> extends true ? (IsFilled<P[K]> extends true ? never : K) : never;
}[keyof P];
type Flat<T> = { readonly [K in keyof T]: T[K] };

/** What a decoded value of schema `S` looks like: read-only, with every default filled in. */
export type Decoded<S> =
  S extends TObject<infer P>
    ? Flat<{ [K in Exclude<keyof P, UnfilledKeys<P>>]: Decoded<P[K]> } & { [K in UnfilledKeys<P>]?: Decoded<P[K]> }>
    : S extends TMap<infer V>
      ? Readonly<Record<string, Decoded<V>>>
      : S extends TList<infer I>
        ? readonly Decoded<I>[]
        : S extends TSchema
          ? Static<S>
          : never;

/** What a person may write for schema `S`: read-only, fields with a default may be left out. */
export type Written<S> =
  S extends TObject<infer P>
    ? Flat<{ [K in Exclude<keyof P, OptionalKeys<P>>]: Written<P[K]> } & { [K in OptionalKeys<P>]?: Written<P[K]> }>
    : S extends TMap<infer V>
      ? Readonly<Record<string, Written<V>>>
      : S extends TList<infer I>
        ? readonly Written<I>[]
        : S extends TSchema
          ? Static<S>
          : never;

/** Options that every schema takes: documentation, Kubernetes' extensions. */
export interface Options {
  readonly description?: string;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** A CEL rule of the CRD. Its twin in TypeScript is in the kind's rules file. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** A field that may be left out and then has no value. */
export const optional = <S extends TSchema>(schema: S): TOptional<S> => Type.Optional(schema) as unknown as TOptional<S>;

/** A field with a schema default, applied when its parent object is there and it is not. */
export function defaulted<S extends TSchema>(schema: S, value: Static<S>): TFilled<S> {
  return Type.Optional({ ...schema, default: value }) as unknown as TFilled<S>;
}

/** A field without schema default that the kind's own defaults fill in when it is absent. */
export const filledIn = <S extends TSchema>(schema: S): TFilled<S> => Type.Optional(schema) as unknown as TFilled<S>;

/** The same schema with another description. */
export const described = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description });

export const object = <P extends TProperties>(properties: P, options: Options = {}): TObject<P> =>
  Type.Object(properties, options);

export function mapOf<V extends TSchema>(
  values: V,
  options: Options & { readonly minProperties?: number; readonly maxProperties?: number } = {},
): TMap<V> {
  return Type.Unsafe({ type: 'object', additionalProperties: values, ...options }) as unknown as TMap<V>;
}

export function listOf<I extends TSchema>(
  items: I,
  options: Options & { readonly minItems?: number; readonly maxItems?: number } = {},
): TList<I> {
  return Type.Unsafe({ type: 'array', items, ...options }) as unknown as TList<I>;
}

export const text = (
  description: string,
  options: {
    readonly minLength?: number;
    readonly maxLength?: number;
    readonly pattern?: string;
    readonly format?: string;
  } & Options = {},
): TUnsafe<string> => Type.Unsafe<string>({ type: 'string', description, ...options });

export const flag = (description: string): TUnsafe<boolean> => Type.Unsafe<boolean>({ type: 'boolean', description });

export const int32 = (
  description: string,
  options: { readonly minimum?: number; readonly maximum?: number } = {},
): TUnsafe<number> => Type.Unsafe<number>({ type: 'integer', format: 'int32', description, ...options });

export const int64 = (description: string, options: { readonly minimum?: number } = {}): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', format: 'int64', description, ...options });

/** An integer without a declared width. */
export const integer = (description: string, options: { readonly minimum?: number } = {}): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'integer', description, ...options });

export const oneOf = <const V extends readonly string[]>(values: V, description: string): TUnsafe<V[number]> =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values, description });

/** Go duration such as `1m30s`; whether it parses is checked by the kind's rules, as the API server does not. */
export const duration = (description: string, options: { readonly maxLength?: number } = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', description, 'x-kvasir-format': 'duration', ...options });

export const intOrString = (description: string): TUnsafe<number | string> =>
  Type.Unsafe<number | string>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    'x-kubernetes-int-or-string': true,
    description,
  });

/** The pattern that the API server applies to quantities. */
export const QUANTITY_PATTERN =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

export const quantity = (description: string): TUnsafe<number | string> =>
  Type.Unsafe<number | string>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern: QUANTITY_PATTERN,
    'x-kubernetes-int-or-string': true,
    description,
  });

/** An object that is carried as it is; `T` names the parts that Kvasir reads. */
export const opaque = <T>(description: string): TUnsafe<T> =>
  Type.Unsafe<T>({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description });

/** Any JSON value. */
export const anyJson = (description: string): TUnsafe<unknown> =>
  Type.Unsafe<unknown>({ 'x-kubernetes-preserve-unknown-fields': true, description });
