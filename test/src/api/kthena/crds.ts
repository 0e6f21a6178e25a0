import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** A structural schema, as far as the walk reads it. */
export interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly Schema[];
}

export interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly scope: string;
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
      readonly subresources?: unknown;
      readonly additionalPrinterColumns?: readonly { readonly name: string; readonly type: string; readonly jsonPath: string }[];
    }[];
  };
}

const folder = join(__dirname, '../../../fixtures/crds/kthena');

/** Kthena's CRDs by kind. */
export const kthenaCrds: Readonly<Record<string, Crd>> = Object.fromEntries(
  readdirSync(folder)
    .sort()
    .map((file) => parse(readFileSync(join(folder, file), 'utf8')) as Crd)
    .map((crd) => [crd.spec.names.kind, crd]),
);

export const schemaOf = (crd: Crd): Schema => crd.spec.versions[0]!.schema.openAPIV3Schema;
