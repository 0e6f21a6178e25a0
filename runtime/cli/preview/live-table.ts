import { type Column, tableLines } from '../table';

/** One model in the live table. Figures that nothing has told yet are undefined and shown as `–`. */
export interface ModelRow {
  readonly model: string;
  readonly podsReady: number;
  readonly podsWanted: number;
  readonly running: number;
  readonly waiting: number;
  /** Share of prompt tokens found in a cache, 0..1. */
  readonly cacheHit: number | undefined;
  readonly ttftP50Ms: number | undefined;
  readonly ttftP90Ms: number | undefined;
  /** Replicas now asked for, and the bounds of its policy when it has one. */
  readonly replicas: number;
  readonly bounds: { readonly min: number; readonly max: number } | undefined;
  /** Scale targets of those policies, as `Kind namespace/name`. */
  readonly targets: readonly string[];
  readonly costPerHour: number | undefined;
}

const COLUMNS: readonly Column<ModelRow>[] = [
  { title: 'MODEL', cell: (row) => row.model, isText: true },
  { title: 'PODS', cell: (row) => `${row.podsReady}/${row.podsWanted}` },
  { title: 'RUNNING', cell: (row) => String(row.running) },
  { title: 'WAITING', cell: (row) => String(row.waiting) },
  { title: 'CACHE HIT', cell: (row) => percent(row.cacheHit) },
  { title: 'TTFT P50', cell: (row) => milliseconds(row.ttftP50Ms) },
  { title: 'TTFT P90', cell: (row) => milliseconds(row.ttftP90Ms) },
  {
    title: 'REPLICAS',
    cell: (row) => `${row.replicas}${row.bounds === undefined ? '' : ` (${row.bounds.min}–${row.bounds.max})`}`,
  },
  { title: 'COST/H', cell: (row) => (row.costPerHour === undefined ? '–' : row.costPerHour.toFixed(2)) },
];

/** The table as lines: a header and one line for each model. */
export function liveTable(rows: readonly ModelRow[]): string[] {
  return tableLines(COLUMNS, rows);
}

/** One model as one plain line, for output that is no terminal. */
export function plainLine(row: ModelRow): string {
  return COLUMNS.slice(1).reduce((line, { title, cell }) => `${line}  ${title.toLowerCase()} ${cell(row)}`, row.model);
}

function percent(share: number | undefined): string {
  return share === undefined ? '–' : `${(100 * share).toFixed(1)} %`;
}

function milliseconds(value: number | undefined): string {
  if (value === undefined) return '–';
  return value < 1000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(2)} s`;
}
