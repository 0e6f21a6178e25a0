import type { TSchema } from '@sinclair/typebox';
import { deepFreeze } from './deep-freeze';
import { type ApiKind, apiKinds } from './kinds';
import type { KubeObject } from './meta';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
}

/** An apiextensions.k8s.io/v1 CustomResourceDefinition, as far as ours use it. */
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly listKind: string; readonly plural: string; readonly singular: string };
    readonly scope: 'Namespaced';
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly additionalPrinterColumns?: readonly PrinterColumn[];
      readonly schema: { readonly openAPIV3Schema: JsonSchema };
      readonly subresources: { readonly status: Readonly<Record<string, never>> };
    }[];
  };
}

/** A structural schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Kinds that Kvasir installs, each with the columns of `kubectl get`. ModelBooster is expanded at build time; ModelServing is Kthena's. */
const COLUMNS = {
  ModelRoute: [AGE],
  ModelServer: [
    { name: 'Engine', type: 'string', jsonPath: '.spec.inferenceEngine', description: 'Engine of the pods' },
    { name: 'Port', type: 'integer', jsonPath: '.spec.workloadPort.port', description: 'Port of the engine' },
    { name: 'Protocol', type: 'string', jsonPath: '.spec.workloadPort.protocol', description: 'Protocol of the engine' },
    AGE,
  ],
  ExternalModelProvider: [],
  AutoscalingPolicy: [AGE],
  AutoscalingPolicyBinding: [AGE],
} as const satisfies Partial<Record<ApiKind, readonly PrinterColumn[]>>;

/** The CustomResourceDefinition of each kind that Kvasir installs, generated from its schema: same input, same bytes. */
export const customResourceDefinitions: readonly CustomResourceDefinition[] = deepFreeze(
  (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).map((kind) => customResourceDefinition(kind, COLUMNS[kind])),
);

function customResourceDefinition(kind: ApiKind, columns: readonly PrinterColumn[]): CustomResourceDefinition {
  const { apiVersion, plural, schema } = apiKinds[kind];
  const [group = '', version = ''] = apiVersion.split('/');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        {
          ...(columns.length === 0 ? {} : { additionalPrinterColumns: columns }),
          name: version,
          // The API server itself asks for apiVersion, kind and metadata.
          schema: { openAPIV3Schema: { ...structural(schema), required: ['spec'] } },
          served: true,
          storage: true,
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** `schema` as the API server takes it: our own keywords and TypeBox's marks left out, keys sorted. */
export function structural(schema: TSchema): JsonSchema {
  const fields: [string, unknown][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('x-kvasir-') || value === undefined) continue;
    if (key === 'properties') {
      const properties = Object.entries(value as Record<string, TSchema>).map(
        ([name, property]) => [name, structural(property)] as const,
      );
      if (properties.length > 0) fields.push([key, Object.fromEntries(properties.sort(byKey))]);
    } else if (key === 'items' || key === 'additionalProperties') fields.push([key, structural(value as TSchema)]);
    else if (key === 'required') fields.push([key, [...(value as readonly string[])].sort()]);
    else fields.push([key, canonical(value)]);
  }
  return Object.fromEntries(fields.sort(byKey));
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, part]) => [key, canonical(part)] as const)
      .sort(byKey),
  );
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
