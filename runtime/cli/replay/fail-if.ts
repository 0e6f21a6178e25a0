import { InvalidArgumentError } from 'commander';
import type { PolicyResult } from './policy-result';

/** A figure of a result, such as `ttftMs.p90` of `expected-latency`. */
interface Figure {
  readonly policy: string;
  readonly path: readonly string[];
}

/** A condition on results under which a replay fails. */
export interface FailIf {
  readonly text: string;
  /** What it reads. */
  readonly figures: readonly Figure[];
  /** Whether it holds. A figure that is not there, such as a latency when nothing was answered, makes it hold. */
  holds(results: ReadonlyMap<string, PolicyResult>): boolean;
}

type Value = (results: ReadonlyMap<string, PolicyResult>) => number;

const SUMMARIES = ['ttftMs', 'itlMs', 'e2eMs'];
const SUMMARY_FIGURES = ['mean', 'p50', 'p90', 'p99'];
const NUMBERS = [
  'requests',
  'errors',
  'hitRatio',
  'tokensPerSecond',
  'requestsPerSecond',
  'balance',
  'load',
  'sloMissRatio',
  'cost',
];
/** A minus between names needs spaces, since policies have hyphens. */
const TOKEN = /\s*(>=|<=|[<>*/()+]|-(?=\s|\d|\.)|\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+|[A-Za-z][\w-]*(?:\.[\w-]+)*)/y;

/**
 * Reads a condition: two sums or products of figures and numbers with `>`, `<`, `>=` or `<=` between them, as in
 * `expected-latency.ttftMs.p90 > 1.01 * random.ttftMs.p90`.
 *
 * @throws InvalidArgumentError, which commander prints with the flag's name.
 */
export function parseFailIf(text: string): FailIf {
  const tokens = tokensOf(text);
  const figures: Figure[] = [];
  let at = 0;

  const product = (): Value => {
    let left = atom();
    while (tokens[at] === '*' || tokens[at] === '/') {
      const [a, operator, b] = [left, tokens[at++], atom()];
      left = operator === '*' ? (results) => a(results) * b(results) : (results) => a(results) / b(results);
    }
    return left;
  };
  const sum = (): Value => {
    let left = product();
    while (tokens[at] === '+' || tokens[at] === '-') {
      const [a, operator, b] = [left, tokens[at++], product()];
      left = operator === '+' ? (results) => a(results) + b(results) : (results) => a(results) - b(results);
    }
    return left;
  };
  const atom = (): Value => {
    const token = tokens[at++];
    if (token === '(') {
      const inner = sum();
      if (tokens[at++] !== ')') throw wrong(text, 'a closing parenthesis is missing');
      return inner;
    }
    if (token !== undefined && /^[\d.]/.test(token)) return () => Number(token);
    if (token === undefined || !/^[A-Za-z]/.test(token))
      throw wrong(text, `a figure or a number is missing before ${token ?? 'the end'}`);
    const figure = figureOf(token, text);
    figures.push(figure);
    return (results) => figureIn(results.get(figure.policy), figure.path);
  };

  const left = sum();
  const operator = tokens[at++];
  if (operator === undefined || !/^[<>]/.test(operator)) throw wrong(text, 'there is no comparison');
  const right = sum();
  if (at < tokens.length) throw wrong(text, `there is something left over: ${tokens.slice(at).join(' ')}`);
  return {
    text,
    figures,
    holds: (results) => {
      const [a, b] = [left(results), right(results)];
      if (Number.isNaN(a) || Number.isNaN(b)) return true;
      return operator === '>' ? a > b : operator === '<' ? a < b : operator === '>=' ? a >= b : a <= b;
    },
  };
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let start = 0; text.slice(start).trim() !== ''; start = TOKEN.lastIndex) {
    const match = TOKEN.exec(text);
    if (match === null) throw wrong(text, `${JSON.stringify(text.slice(start).trim())} cannot be read`);
    tokens.push(match[1]!);
  }
  return tokens;
}

function figureOf(token: string, text: string): Figure {
  const parts = token.split('.');
  const summaryAt = parts.findIndex((part) => SUMMARIES.includes(part));
  const nameParts = summaryAt > 0 ? summaryAt : parts.length - 1;
  const path = parts.slice(nameParts);
  const isKnown =
    path.length === 2
      ? SUMMARIES.includes(path[0]!) && SUMMARY_FIGURES.includes(path[1]!)
      : path.length === 1 && NUMBERS.includes(path[0]!);
  if (!isKnown || nameParts < 1) {
    const known = [...SUMMARIES.map((name) => `${name}.${SUMMARY_FIGURES.join('|')}`), ...NUMBERS].join(', ');
    throw wrong(text, `${JSON.stringify(token)} names no figure; write a policy, a dot, and one of ${known}`);
  }
  return { policy: parts.slice(0, nameParts).join('.'), path };
}

function figureIn(result: PolicyResult | undefined, path: readonly string[]): number {
  const value = path.reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], result);
  return typeof value === 'number' ? value : Number.NaN;
}

function wrong(text: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`${JSON.stringify(text)}: ${why}`);
}
