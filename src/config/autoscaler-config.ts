import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Finding } from '../errors';
import { budgetSchema } from './budget-config';
import { parseDocument } from './parse-document';
import { prometheusServerSchema } from './prometheus-server-config';

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
    metricWindowMs: milliseconds(
      'Span over which counters become rates, histograms become quantiles, and loads are compared to tell a change from chance.',
      60_000,
      1000,
    ),
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
    dryRun: Type.Boolean({
      description: 'Whether everything is computed and reported, and no scale, role or pod is written.',
      default: false,
    }),
    drainTimeoutMs: milliseconds('Longest time that streams of a pod may go on before its replica is taken away.', 300_000, 0),
    routerApp: Type.String({
      description: 'Value of the label `app` of the router pods that metrics `router:<signal>` are read from.',
      default: 'kvasir-router',
      minLength: 1,
    }),
    routerMetricsPort: Type.Integer({ description: "Port of those pods' metrics.", default: 9090, minimum: 1, maximum: 65_535 }),
    budgets: Type.Array(budgetSchema, {
      description: 'GPU pools and budgets that all policies share; beyond one of them nothing grows.',
      default: [],
    }),
    prometheusServers: Type.Array(prometheusServerSchema, {
      description: 'Credentials for Prometheus servers that policies name.',
      default: [],
    }),
    leaseName: Type.String({
      description: 'Lease by which one of several replicas is elected to act, in the namespace of the pod.',
      default: 'kvasir-autoscaler',
      minLength: 1,
      maxLength: 253,
    }),
    leaseDurationMs: milliseconds(
      'How long a standby waits after the last renewal of the Lease before it takes over.',
      15_000,
      1000,
    ),
    leaseRenewDeadlineMs: milliseconds(
      'How long the leader acts after its last renewal; then it ends. Below leaseDurationMs.',
      10_000,
      500,
    ),
    leaseRetryPeriodMs: milliseconds(
      'Time between renewals, and between looks of a standby. Below leaseRenewDeadlineMs.',
      2000,
      100,
    ),
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
  const config: AutoscalerConfig = Object.freeze({ ...defaultAutoscalerConfig(), ...given });
  const disorder = leaseDisorder(config);
  if (disorder !== undefined) return { kind: 'invalid', findings: [{ ...place, severity: 'error', ...disorder }] };
  return { kind: 'valid', config };
}

/** Of the times of the Lease each must leave room for the next. */
function leaseDisorder(config: AutoscalerConfig): Omit<Finding, 'severity'> | undefined {
  const pairs = [
    ['leaseRenewDeadlineMs', 'leaseDurationMs'],
    ['leaseRetryPeriodMs', 'leaseRenewDeadlineMs'],
  ] as const;
  const wrong = pairs.find(([less, more]) => config[less] >= config[more]);
  if (wrong === undefined) return undefined;
  const [field, bound] = wrong;
  const message = `${config[field]} is not below ${bound}, ${config[bound]}`;
  return { code: 'config/invalid-value', field, message, remedy: 'lower the one or raise the other' };
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
  if (schema.type === 'array') {
    const { path, message } = [...Value.Errors(schema, value)][0]!;
    const at = path === '' ? '' : ` at ${path.slice(1).replaceAll('/', '.')}`;
    return { code, message: `${shown} is wrong${at}: ${message.toLowerCase()}`, remedy: schema.description! };
  }
  if ('anyOf' in schema) return { code, message: `${shown} is no algorithm`, remedy: `write ${ALGORITHM_NAMES.join(' or ')}` };
  if (schema.type === 'string') return { code, message: `${shown} is no text`, remedy: 'write a text' };
  if (schema.type === 'boolean') return { code, message: `${shown} is neither true nor false`, remedy: 'write true or false' };
  const { minimum, maximum } = schema;
  return { code, message: `${shown} is out of range`, remedy: `write a whole number from ${minimum} to ${maximum}` };
}
