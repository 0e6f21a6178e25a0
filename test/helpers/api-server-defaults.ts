import { canonicalQuantity } from '../../src/quantity';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const PROBES = new Set(['readinessProbe', 'livenessProbe', 'startupProbe']);
const QUANTITIES = new Set(['limits', 'requests']);
/** Fields that recordings of pods leave out. */
const NOT_RECORDED = new Set(['imagePullPolicy', 'hostNetwork', 'hostPort']);

type Labels = Readonly<Record<string, string>>;

/** A pod's spec as the API server stores it: defaults filled in, quantities canonical, empty lists left out. */
export function storedPodSpec(spec: object, labels: Labels): unknown {
  const stored = visit(JSON.parse(JSON.stringify(spec)) as JsonObject, labels) as JsonObject;
  return { terminationGracePeriodSeconds: 30, ...stored, ...containersOf(stored) };
}

function containersOf(spec: JsonObject): JsonObject {
  const lists = ['containers', 'initContainers'].filter((list) => Array.isArray(spec[list]));
  return Object.fromEntries(
    lists.map((list) => [list, (spec[list] as readonly JsonObject[]).map((each) => ({ resources: {}, ...each }))]),
  );
}

function visit(value: Json, labels: Labels, key = ''): Json {
  if (Array.isArray(value)) return value.map((element) => visit(element as Json, labels, key));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as JsonObject)
    .map(([name, field]) => [name, visit(field, labels, name)] as const)
    .filter(([name, field]) => !NOT_RECORDED.has(name) && !(Array.isArray(field) && field.length === 0));
  const object = Object.fromEntries(fields);
  if (QUANTITIES.has(key)) return Object.fromEntries(fields.map(([name, field]) => [name, canonicalQuantity(field as string)]));
  if (PROBES.has(key)) return { failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1, ...object };
  if (key === 'httpGet') return { scheme: 'HTTP', ...object };
  if (key === 'fieldRef') return { apiVersion: 'v1', ...object };
  if (key === 'hostPath') return { type: '', ...object };
  if (key === 'resources' && object.limits !== undefined) {
    return { ...object, requests: { ...(object.limits as JsonObject), ...(object.requests as JsonObject) } };
  }
  if (key === 'ports') return { protocol: 'TCP', ...object };
  if (Array.isArray(object.matchLabelKeys)) return withMatchLabels(object, labels);
  return object;
}

/** An affinity term that names label keys gets the pod's own values of them. */
function withMatchLabels(term: JsonObject, labels: Labels): JsonObject {
  const selector = term.labelSelector as JsonObject;
  const written = (selector.matchExpressions ?? []) as readonly Json[];
  const own = (term.matchLabelKeys as readonly string[]).map((key) => ({ key, operator: 'In', values: [labels[key]!] }));
  const added = own.filter(({ key }) => !written.some((each) => (each as JsonObject).key === key));
  return { ...term, labelSelector: { ...selector, matchExpressions: [...written, ...added] } };
}
