import { HTTP_TOKEN } from '../api/model-route';
import { parseDurationMs } from '../duration';
import type { Finding } from '../errors';
import { parseDocument } from './parse-document';
import { type DecodedRouterConfig, decodeRouterConfig, defaultRouterConfig, type RouterConfig } from './router-config';

type Environment = Readonly<Record<string, string | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

/** How a variable's text becomes a field's value; undefined for text that says nothing. */
interface Variable {
  readonly path: readonly string[];
  read(text: string): unknown;
  /** What it takes. */
  readonly takes: string;
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

const flag = (...path: readonly string[]): Variable => ({
  path,
  read: (text) => (TRUE.has(text) ? true : FALSE.has(text) ? false : undefined),
  takes: 'true or false',
});

const number = (path: readonly string[], takes: string, isTaken: (value: number) => boolean): Variable => ({
  path,
  read: (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) && isTaken(value) ? value : undefined;
  },
  takes,
});

const weight = (...path: readonly string[]): Variable =>
  number(path, 'a number of 0 or more', (value) => value >= 0 && value <= 1e6);

const count = (path: readonly string[], least: number): Variable =>
  number(path, `a whole number of ${least} or more`, (value) => Number.isInteger(value) && value >= least && value <= 1e6);

const duration = (path: readonly string[], leastMs: number, mostMs: number): Variable => ({
  path,
  read: (text) => {
    const ms = parseDurationMs(text);
    return ms === undefined || ms < leastMs || ms > mostMs ? undefined : Math.round(ms);
  },
  takes: `a duration of ${leastMs / 1000} to ${mostMs / 1000} seconds, such as 90s`,
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HEADER = new RegExp(HTTP_TOKEN);

/** Kthena's variables that have a field here. */
const VARIABLES: Readonly<Record<string, Variable>> = {
  ENABLE_FAIRNESS_SCHEDULING: flag('queue', 'fairness', 'enabled'),
  FAIRNESS_WINDOW_SIZE: duration(['queue', 'fairness', 'windowMs'], 60_000, HOUR_MS),
  FAIRNESS_INPUT_TOKEN_WEIGHT: weight('queue', 'fairness', 'inputTokenWeight'),
  FAIRNESS_OUTPUT_TOKEN_WEIGHT: weight('queue', 'fairness', 'outputTokenWeight'),
  FAIRNESS_PRIORITY_TOKEN_WEIGHT: weight('queue', 'fairness', 'priorityTokenWeight'),
  FAIRNESS_PRIORITY_REQUEST_NUM_WEIGHT: weight('queue', 'fairness', 'priorityRequestNumWeight'),
  FAIRNESS_MAX_CONCURRENT: count(['queue', 'fairness', 'maxConcurrent'], 0),
  ENABLE_SESSION_BOOST: flag('queue', 'sessionBoost', 'enabled'),
  SESSION_BOOST_HEADER: {
    path: ['queue', 'sessionBoost', 'header'],
    read: (text) => (HEADER.test(text) ? text : undefined),
    takes: 'the name of a header',
  },
  SESSION_BOOST_MAX_SESSIONS: count(['queue', 'sessionBoost', 'maxSessions'], 1),
  SESSION_BOOST_INFLIGHT_PER_POD: count(['queue', 'sessionBoost', 'inflightPerPod'], 1),
  SESSION_BOOST_GRACE_PERIOD: duration(['queue', 'sessionBoost', 'gracePeriodMs'], 0, 60_000),
  // Of two that are set, the one whose queue is switched on counts in Kthena; here there is one queue, and the later row wins.
  SESSION_BOOST_TIMEOUT: duration(['queue', 'maxWaitMs'], 1, HOUR_MS),
  FAIRNESS_QUEUE_TIMEOUT: duration(['queue', 'maxWaitMs'], 1, HOUR_MS),
  ACCESS_LOG_ENABLED: flag('accessLog', 'enabled'),
  ACCESS_LOG_FORMAT: {
    path: ['accessLog', 'format'],
    read: (text) => (text === 'text' || text === 'json' ? text : undefined),
    takes: 'text or json',
  },
  ACCESS_LOG_OUTPUT: { path: ['accessLog', 'output'], read: (text) => text || undefined, takes: 'stdout, stderr or a file' },
  DRAIN_TIMEOUT: duration(['drain', 'timeoutMs'], 1, DAY_MS),
};

/** Kthena's variables for which there is nothing to set: room in pods paces the queue, and its order is never stale. */
const NEEDLESS = ['FAIRNESS_MAX_QPS', 'FAIRNESS_PRIORITY_REFRESH_RETRIES', 'FAIRNESS_REBUILD_THRESHOLD'];

/** What of the environment is not used as it stands. As in Kthena that is a warning, and the default holds. */
export function environmentFindings(environment: Environment): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [name, { read, takes }] of Object.entries(VARIABLES)) {
    const text = environment[name];
    if (text === undefined || text === '' || read(text) !== undefined) continue;
    const message = `${JSON.stringify(text)} is not used`;
    findings.push({ code: 'config/environment', severity: 'warning', field: name, message, remedy: `give ${takes}` });
  }
  for (const name of NEEDLESS) {
    if ((environment[name] ?? '') === '') continue;
    const message = 'has no effect: requests go as soon as a pod has room';
    findings.push({ code: 'config/environment', severity: 'info', field: name, message, remedy: 'remove it' });
  }
  return findings;
}

/**
 * Reads configuration documents of a router whose environment may have Kthena's variables: they stand for fields that the document leaves
 * out.
 */
export function routerConfigReader(environment: Environment): (text: string, file?: string) => DecodedRouterConfig {
  return (text, file) =>
    parseDocument(text, file, (document, named) => decodeRouterConfig(withEnvironment(document ?? {}, environment), named));
}

/** The configuration of a router without a document. */
export function environmentRouterConfig(environment: Environment): RouterConfig {
  const decoded = decodeRouterConfig(withEnvironment({}, environment));
  // Whatever a variable says that its field does not take is left out before.
  return decoded.kind === 'valid' ? decoded.config : defaultRouterConfig();
}

function withEnvironment(document: unknown, environment: Environment): unknown {
  let result = document;
  for (const [name, { path, read }] of Object.entries(VARIABLES)) {
    const value = read(environment[name] ?? '');
    if (value !== undefined) result = withDefault(result, path, value);
  }
  // What the document says comes last, so that of several rows for one field the last counts.
  return document === result ? document : overlaid(result, document);
}

function withDefault(document: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (!isFields(document) && document !== undefined) return document;
  const fields = document ?? {};
  return { ...fields, [name]: withDefault(fields[name], rest, value) };
}

function overlaid(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isFields(under) || !isFields(over)) return over;
  const names = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, overlaid(under[name], over[name])]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
