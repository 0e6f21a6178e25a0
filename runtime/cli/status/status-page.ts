import { describeObject } from '../../../src/api/meta';
import type { Finding } from '../../../src/errors';
import { findingLine } from '../../../src/errors';
import { podsText } from '../get/model-table';
import { lastScaled, reasonOf } from '../get/policy-table';
import { targetsText } from '../get/route-table';
import { type Look, nowOf } from '../look/look';
import { distinctPools, type ModelView, type RuleView } from '../look/model-view';
import type { PolicyView } from '../look/policy-view';
import type { PoolView } from '../look/server-view';
import { ageText, counted, shareText, UNKNOWN, wrapped } from '../look/texts';
import { tableLines } from '../table';

const INDENT = '  ';
/** Width of the words that begin a line: `scaling`, `route`, … */
const WORD = 9;
const HANGING = INDENT.length + WORD;

/** One paragraph for each model: where its requests go, who serves them, who scales it, and what is wrong. Pure. @param width of the terminal. */
export function statusPage(models: readonly ModelView[], look: Look, width: number | undefined): readonly string[] {
  const paragraphs = models.map((model) => [
    headOf(model, look),
    ...labelled('route', routeLines(model.rules), width),
    ...labelled('pods', poolLines(model), width),
    ...labelled('engines', engineLines(model, look), width),
    ...labelled(
      'scaling',
      model.policies.flatMap((policy) => policyLines(policy, look)),
      width,
    ),
    ...model.problems.flatMap((problem) => problemLines(problem, width)),
  ]);
  return [...paragraphs.flatMap((lines) => [...lines, '']), ...wrapped(summary(models, look), INDENT.length, width)];
}

function headOf(model: ModelView, { snapshot }: Look): string {
  const pods = model.servers.length === 0 ? [] : [`${podsText(model)} pods ready`];
  const cost = model.costPerHour === undefined ? [] : [`${model.costPerHour.toFixed(2)} per hour`];
  const namespaces = new Set(snapshot.workloads.map(({ target }) => target.namespace));
  const place = namespaces.size > 1 ? [`in ${model.namespace}`] : [];
  return [model.name, model.state, ...pods, ...cost, ...place].join('  ');
}

function labelled(word: string, lines: readonly string[], width: number | undefined): readonly string[] {
  return lines.flatMap((line, index) => wrapped(`${INDENT}${(index === 0 ? word : '').padEnd(WORD)}${line}`, HANGING + 2, width));
}

function routeLines(rules: readonly RuleView[]): readonly string[] {
  return rules.map(({ route, index, targets }) => {
    const { name } = route.spec.rules[index]!;
    const rule = route.spec.rules.length === 1 ? '' : `, rule ${index}${name === undefined ? '' : ` ${JSON.stringify(name)}`}`;
    const gateways = (route.spec.parentRefs ?? []).length > 0 ? ' (Gateways only)' : '';
    return `${describeObject(route)}${rule}${gateways} → ${targetsText([targets])}`;
  });
}

function poolLines(model: ModelView): readonly string[] {
  const pools = distinctPools(model.servers);
  if (pools.length === 0) return [];
  const columns: readonly ((pool: PoolView) => string)[] = [
    ({ workload }) => workload ?? 'without a workload',
    ({ role }) => role ?? '',
    ({ podsReady, podsWanted, podsThere }) =>
      `${model.state === 'NotRunning' ? UNKNOWN : podsReady}/${podsWanted ?? podsThere} ready`,
    ({ accelerator, gpusPerPod }) => (accelerator === undefined ? '' : `${gpusPerPod}×${accelerator}`),
    ({ costPerHour }) => (costPerHour === undefined ? '' : `${costPerHour.toFixed(2)}/h`),
  ];
  const told = columns.filter((cell) => pools.some((pool) => cell(pool) !== ''));
  return tableLines(
    told.map((cell) => ({ title: '', cell, isText: true as const })),
    pools,
  ).slice(1);
}

/** What the router sees of the model's engines, together. */
function engineLines({ servers }: ModelView, { endpoints }: Look): readonly string[] {
  if (endpoints === undefined) return [];
  const pods = new Set(servers.flatMap(({ pools }) => pools.flatMap((pool) => pool.pods)));
  const seen = [...pods].flatMap((pod) => endpoints.get(pod) ?? []);
  if (seen.length === 0) return [];
  const sum = (of: (each: (typeof seen)[number]) => number | undefined): number =>
    seen.reduce((total, each) => total + (of(each) ?? 0), 0);
  const kv = seen.flatMap(({ kvUsage }) => kvUsage ?? []);
  const usage =
    kv.length === 0 ? '' : `, KV cache ${shareText(Math.round((100 * kv.reduce((a, b) => a + b, 0)) / kv.length) / 100)}`;
  return [
    `${sum(({ running }) => running)} running, ${sum(({ waiting }) => waiting)} waiting${usage}, ${sum(({ inFlight }) => inFlight)} in flight through this router`,
  ];
}

function policyLines(policy: PolicyView, look: Look): readonly string[] {
  const reason = reasonOf(policy);
  const scaled = lastScaled(policy);
  const units = policy.units.map(({ name, min, max, current, wanted }) => {
    const bounds = `${min}–${max}`;
    const now =
      current === undefined
        ? `${bounds} replicas`
        : `${counted(current, 'replica')} of ${bounds}, metrics ask for ${wanted ?? UNKNOWN}`;
    return policy.units.length === 1 ? now : `${name}: ${now}`;
  });
  const rest = [
    ...(reason === undefined || reason === 'Reconciled' ? [] : [reason]),
    ...(scaled === undefined ? [] : [`scaled ${ageText(scaled, nowOf(look))} ago`]),
  ];
  const tail = rest.length === 0 ? '' : ` (${rest.join(', ')})`;
  if (units.length === 1) return [`${policy.name}: ${units[0]}${tail}`];
  return [`${policy.name}${tail}`, ...units.map((unit) => `  ${unit}`)];
}

function problemLines(problem: Finding, width: number | undefined): readonly string[] {
  return wrapped(`${INDENT}${problem.severity}: ${findingLine(problem)}`, INDENT.length + 2, width);
}

/** What it comes to, and where it was read. */
function summary(models: readonly ModelView[], look: Look): string {
  const count = (severity: Finding['severity']): number =>
    models.flatMap(({ problems }) => problems).filter((each) => each.severity === severity).length;
  return `${counted(models.length, 'model')}, ${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}; read from ${look.from}`;
}
