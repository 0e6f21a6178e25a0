import { type TSchema, Type } from '@sinclair/typebox';
import type { KubeObject, ObjectMeta } from './meta';
import type { Decoded, Written } from './schema';

/** A decoded object of a kind: read-only, defaults filled in, rules kept. */
export type KubeKind<Kind extends string, Spec extends TSchema, Status extends TSchema> = KubeObject & {
  readonly kind: Kind;
  readonly spec: Decoded<Spec>;
  readonly status?: Decoded<Status>;
};

/** An object of a kind as a person writes it; fields with a default may be left out. */
export type KubeManifest<Kind extends string, Spec extends TSchema> = KubeObject & {
  readonly kind: Kind;
  readonly spec: Written<Spec>;
};

/**
 * Schema of a whole object. `metadata` is only typed here: the API server's own rules for it are in `metadata-rules.ts`, and a CRD
 * must leave them out.
 */
export function objectSchema<Spec extends TSchema, Status extends TSchema>(spec: Spec, status: Status, description: string) {
  return Type.Object(
    {
      apiVersion: Type.String({ description: 'Group and version of this kind.' }),
      kind: Type.String({ description: 'Name of this kind.' }),
      metadata: Type.Unsafe<ObjectMeta>({ type: 'object' }),
      spec,
      status: Type.Optional(status),
    },
    { description },
  );
}
