import type { PolicyResult } from './policy-result';

interface Column {
  readonly title: string;
  readonly text: (result: PolicyResult) => string;
}

const COLUMNS: readonly Column[] = [
  { title: 'POLICY', text: ({ name }) => name },
  { title: 'TTFT mean', text: ({ ttftMs }) => ms(ttftMs.mean) },
  { title: 'p50', text: ({ ttftMs }) => ms(ttftMs.p50) },
  { title: 'p90', text: ({ ttftMs }) => ms(ttftMs.p90) },
  { title: 'p99', text: ({ ttftMs }) => ms(ttftMs.p99) },
  { title: 'ITL mean', text: ({ itlMs }) => figure(itlMs.mean, 1) },
  { title: 'p90', text: ({ itlMs }) => figure(itlMs.p90, 1) },
  { title: 'E2E mean', text: ({ e2eMs }) => ms(e2eMs.mean) },
  { title: 'p90', text: ({ e2eMs }) => ms(e2eMs.p90) },
  { title: 'HIT', text: ({ hitRatio }) => percent(hitRatio) },
  { title: 'REQ/S', text: ({ requestsPerSecond }) => figure(requestsPerSecond, 2) },
  { title: 'TOK/S', text: ({ tokensPerSecond }) => figure(tokensPerSecond, 0) },
  { title: 'BALANCE', text: ({ balance }) => figure(balance, 2) },
  { title: 'MISSED', text: ({ sloMissRatio }) => percent(sloMissRatio) },
  { title: 'COST', text: ({ cost }) => (cost === null ? 'unknown' : `$${cost.toFixed(2)}`) },
  { title: 'ERRORS', text: ({ errors }) => String(errors) },
];

/** Results as a table for people: latencies in milliseconds, one row for each policy. */
export function replayTable(results: readonly PolicyResult[]): readonly string[] {
  const rows = [COLUMNS.map(({ title }) => title), ...results.map((result) => COLUMNS.map(({ text }) => text(result)))];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}

function ms(value: number): string {
  return figure(value, 0);
}

function figure(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}

function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(1)} %`;
}
