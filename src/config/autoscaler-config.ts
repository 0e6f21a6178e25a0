import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Finding } from '../errors';
import { parseDocument } from './parse-document';

const milliseconds = (description: string, value: number, minimum: number) =>
  Type.Integer({ description, default: value, minimum, maximum: 3_600_000 });

/** Names of the scaling algorithms. */
export const ALGORITHM_NAMES = ['default', 'kthena'] as const;
export type AlgorithmName = (typeof ALGORITHM_NAMES)[number];

/** The document that configures the autoscaler image. Every field may be left out. */
export const autoscalerConfigSchema = Type.Object(
  {
    syncPeriodMs: milliseconds('Time from the start of one round to the start of the next.', 15_000, 100),
    algorithm: Type.Union(
      ALGORITHM_NAMES.map((name) => Type.Literal(name)),
      {
        description:
          "How load becomes replicas: Kvasir's own way, or Kthena 1.0's exactly. A policy's annotation kvasir.dev/autoscaler-algorithm wins.",
        default: 'default',
      },
    ),
    scrapeTimeoutMs: milliseconds('Longest time for one metrics page or one Prometheus query.', 3000, 100),
    scrapeConcurrency: Type.Integer({
      description: 'Metrics pages read at the same time.',
      default: 32,
      minimum: 1,
      maximum: 1024,
    }),
    metricWindowMs: milliseconds('Span over which counters become rates and histograms become quantiles.', 60_000, 1000),
    histogramPercentile: Type.Integer({
      description: 'Percentile that a histogram is read at.',
      default: 95,
      minimum: 1,
      maximum: 99,
    }),
    allowCrossNamespaceTargets: Type.Boolean({
      description: 'Whether a policy may scale a target in another namespace.',
      default: false,
    }),
    explainedRounds: Type.Integer({
      description: 'Rounds per policy that the debug port can explain.',
      default: 60,
      minimum: 1,
      maximum: 10_000,
    }),
  },
  { additionalProperties: false, description: 'Configuration of the autoscaler image.' },
);

export type AutoscalerConfig = Readonly<Static<typeof autoscalerConfigSchema>>;

/** All defaults. */
export function defaultAutoscalerConfig(): AutoscalerConfig {
  const fields = Object.entries(autoscalerConfigSchema.properties).map(([name, field]) => [name, field.default]);
  return Object.freeze(Object.fromEntries(fields)) as AutoscalerConfig;
}

export type DecodedAutoscalerConfig =
  | { readonly kind: 'valid'; readonly config: AutoscalerConfig }
  | { readonly kind: 'invalid'; readonly findings: readonly Finding[] };

/**
 * Checks a configuration document and fills in defaults. An empty document (null) is all defaults.
 *
 * @param file names the document in findings.
 */
export function decodeAutoscalerConfig(document: unknown, file?: string): DecodedAutoscalerConfig {
  const place = file === undefined ? {} : { file };
  if (document !== null && document !== undefined && (typeof document !== 'object' || Array.isArray(document))) {
    const message = `${JSON.stringify(document)} is no mapping`;
    const remedy = "write fields, such as 'syncPeriodMs: 15000'";
    return { kind: 'invalid', findings: [{ ...place, code: 'config/invalid-value', severity: 'error', message, remedy }] };
  }
  const given = (document ?? {}) as Readonly<Record<string, unknown>>;
  const findings = Object.entries(given).flatMap(([field, value]): Finding[] => {
    const problem = problemOf(field, value);
    return problem === undefined ? [] : [{ ...place, severity: 'error', field, ...problem }];
  });
  if (findings.length > 0) return { kind: 'invalid', findings };
  return { kind: 'valid', config: Object.freeze({ ...defaultAutoscalerConfig(), ...given }) };
}

/** Reads a configuration document written as YAML or JSON. */
export function parseAutoscalerConfig(text: string, file?: string): DecodedAutoscalerConfig {
  return parseDocument(text, file, decodeAutoscalerConfig);
}

function problemOf(field: string, value: unknown): Pick<Finding, 'code' | 'message' | 'remedy'> | undefined {
  const shown = JSON.stringify(value);
  const schema = Object.entries(autoscalerConfigSchema.properties).find(([name]) => name === field)?.[1];
  if (schema === undefined) {
    const names = Object.keys(autoscalerConfigSchema.properties).join(', ');
    return {
      code: 'config/unknown-field',
      message: 'is no field of the autoscaler configuration',
      remedy: `use one of ${names}`,
    };
  }
  if (Value.Check(schema, value)) return undefined;
  const code = 'config/invalid-value';
  if ('anyOf' in schema) return { code, message: `${shown} is no algorithm`, remedy: `write ${ALGORITHM_NAMES.join(' or ')}` };
  if (schema.type === 'boolean') return { code, message: `${shown} is neither true nor false`, remedy: 'write true or false' };
  const { minimum, maximum } = schema;
  return { code, message: `${shown} is out of range`, remedy: `write a whole number from ${minimum} to ${maximum}` };
}
