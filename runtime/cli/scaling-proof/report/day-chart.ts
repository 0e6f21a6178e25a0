import type { DayPoint } from '../day-run';

/** One strategy's day in a chart. */
export interface ChartedDay {
  readonly name: string;
  /** What is written behind the name. */
  readonly caption: string;
  readonly points: readonly DayPoint[];
}

export interface ChartOptions {
  readonly title: string;
  /** Names of the pools, as `DayPoint.pods` has them. */
  readonly pools: readonly string[];
  readonly days: readonly ChartedDay[];
  readonly durationMs: number;
}

const WIDTH = 960;
const LEFT = 56;
const RIGHT = 24;
const PANEL_HEIGHT = 110;
const PANEL_GAP = 46;
const TOP = 92;
/** Colours that people with colour blindness tell apart (Okabe and Ito, 2008). */
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#cc79a7', '#56b4e9', '#7a7a00', '#000000'];
const LOAD_COLOUR = '#555555';

/** Load, replicas and cost of one day under several strategies, as an SVG image: a panel of load, one of replicas for each strategy, one of cost. */
export function dayChart({ title, pools, days, durationMs }: ChartOptions): string {
  const panels = days.length + 2;
  const height = TOP + panels * (PANEL_HEIGHT + PANEL_GAP);
  const x = (atMs: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * atMs) / durationMs;
  const topOf = (panel: number): number => TOP + panel * (PANEL_HEIGHT + PANEL_GAP);
  const mostPods = Math.max(
    1,
    ...days.flatMap(({ points }) => points.map(({ pods }) => pods.reduce((sum, each) => sum + each, 0))),
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(LEFT, 26, title, 'font-size="16" font-weight="600"'),
    ...pools.map((pool, i) => {
      const at = LEFT + 180 * i;
      return `<rect x="${at}" y="40" width="12" height="12" fill="${COLOURS[i % COLOURS.length]}" opacity="0.75"/>${text(at + 18, 50, pool)}`;
    }),
    ...loadPanel(days[0]?.points ?? [], topOf(0), x),
    ...days.flatMap((day, i) => podPanel(day, topOf(i + 1), mostPods, x)),
    ...costPanel(days, topOf(panels - 1), x),
    ...hours(durationMs, topOf(panels - 1) + PANEL_HEIGHT, x),
    '</svg>',
    '',
  ];
  return parts.join('\n');
}

function loadPanel(points: readonly DayPoint[], top: number, x: (atMs: number) => number): readonly string[] {
  const most = niceMost(Math.max(0, ...points.map(({ load }) => load)));
  const y = scale(top, most);
  return [
    ...frame('Load, requests/s', top, most),
    line(
      points.map(({ atMs, load }) => [x(atMs), y(load)]),
      LOAD_COLOUR,
    ),
  ];
}

/** Pods of each pool, one above the other. */
function podPanel(
  { name, caption, points }: ChartedDay,
  top: number,
  mostPods: number,
  x: (atMs: number) => number,
): readonly string[] {
  const most = Math.ceil(mostPods);
  const y = scale(top, most);
  const pools = points[0]?.pods.length ?? 0;
  const areas = Array.from({ length: pools }, (_, pool) => {
    const below = (pods: readonly number[]): number => pods.slice(0, pool).reduce((sum, each) => sum + each, 0);
    const upper = points.map(({ atMs, pods }) => `${fixed(x(atMs))},${fixed(y(below(pods) + pods[pool]!))}`);
    const lower = points.map(({ atMs, pods }) => `${fixed(x(atMs))},${fixed(y(below(pods)))}`).reverse();
    return `<polygon points="${[...upper, ...lower].join(' ')}" fill="${COLOURS[pool % COLOURS.length]}" opacity="0.75"/>`;
  });
  return [...frame(`${name}: pods`, top, most, caption), ...areas];
}

function costPanel(days: readonly ChartedDay[], top: number, x: (atMs: number) => number): readonly string[] {
  const most = niceMost(Math.max(0, ...days.flatMap(({ points }) => points.map(({ costPerHour }) => costPerHour))));
  const y = scale(top, most);
  return [
    ...frame('Cost, USD/h', top, most),
    ...days.flatMap(({ name, points }, i) => {
      const colour = COLOURS[i % COLOURS.length]!;
      const at = LEFT + 150 + 130 * i;
      return [
        line(
          points.map(({ atMs, costPerHour }) => [x(atMs), y(costPerHour)]),
          colour,
        ),
        `<line x1="${at}" x2="${at + 16}" y1="${top - 12}" y2="${top - 12}" stroke="${colour}" stroke-width="2"/>`,
        text(at + 22, top - 8, name),
      ];
    }),
  ];
}

function frame(title: string, top: number, most: number, caption = ''): readonly string[] {
  const bottom = top + PANEL_HEIGHT;
  return [
    text(LEFT, top - 8, title, 'font-weight="600"'),
    ...(caption === '' ? [] : [text(WIDTH - RIGHT, top - 8, caption, 'text-anchor="end" fill="#555555"')]),
    ...[0, 0.5, 1].map((share) => {
      const y = bottom - share * PANEL_HEIGHT;
      const value = text(LEFT - 8, y + 4, String(Number((share * most).toPrecision(3))), 'text-anchor="end" fill="#555555"');
      return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${fixed(y)}" y2="${fixed(y)}" stroke="#dddddd"/>${value}`;
    }),
  ];
}

function hours(durationMs: number, bottom: number, x: (atMs: number) => number): readonly string[] {
  const stepMs = durationMs / 8;
  return Array.from({ length: 9 }, (_, i) => {
    const label = `${Number(((i * stepMs) / 3_600_000).toPrecision(3))} h`;
    return text(x(i * stepMs), bottom + 18, label, 'text-anchor="middle" fill="#555555"');
  });
}

function scale(top: number, most: number): (value: number) => number {
  return (value) => top + PANEL_HEIGHT * (1 - value / most);
}

/** The next round number. */
function niceMost(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((round) => round >= value)!;
}

function line(points: readonly (readonly [number, number])[], colour: string): string {
  const at = points.map(([px, py]) => `${fixed(px)},${fixed(py)}`).join(' ');
  return `<polyline points="${at}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
}

function text(x: number, y: number, content: string, attributes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<text x="${fixed(x)}" y="${fixed(y)}" ${attributes}>${escaped}</text>`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}
