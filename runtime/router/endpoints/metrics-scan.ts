/** One sample line of a metrics page. */
export interface MetricSample {
  readonly name: string;
  /** Text between the braces, '' when there are none. */
  readonly labels: string;
  readonly value: number;
}

/**
 * Finds the samples of the wanted families in a Prometheus text page and looks at no other line's content: a page of a large engine
 * has a thousand lines of which a handful matter.
 *
 * @param prefix what all wanted names begin with, such as `vllm:`.
 */
export function scanMetrics(page: string, prefix: string, wanted: ReadonlySet<string>): readonly MetricSample[] {
  const samples: MetricSample[] = [];
  for (let start = nextLine(page, prefix, 0); start >= 0; ) {
    const newline = page.indexOf('\n', start);
    const end = newline < 0 ? page.length : newline;
    const sample = readSample(page, start, end, wanted);
    if (sample !== undefined) samples.push(sample);
    start = nextLine(page, prefix, end + 1);
  }
  return samples;
}

/** Start of the first line at or after `from` (itself a line start) that begins with `prefix`; −1 when there is none. */
function nextLine(page: string, prefix: string, from: number): number {
  if (page.startsWith(prefix, from)) return from;
  const found = page.indexOf(`\n${prefix}`, from);
  return found < 0 ? -1 : found + 1;
}

/** Value of one label in a sample's label text. */
export function labelValue(labels: string, name: string): string | undefined {
  const key = `${name}="`;
  for (let at = labels.indexOf(key); at >= 0; at = labels.indexOf(key, at + 1)) {
    if (at > 0 && labels[at - 1] !== ',' && labels[at - 1] !== ' ') continue;
    const from = at + key.length;
    let end = from;
    while (end < labels.length && labels[end] !== '"') end += labels[end] === '\\' ? 2 : 1;
    return labels.slice(from, end).replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return undefined;
}

function readSample(page: string, start: number, end: number, wanted: ReadonlySet<string>): MetricSample | undefined {
  let nameEnd = start;
  while (nameEnd < end && page[nameEnd] !== '{' && page[nameEnd] !== ' ') nameEnd += 1;
  const name = page.slice(start, nameEnd);
  if (!wanted.has(name)) return undefined;
  let valueStart = nameEnd;
  let labels = '';
  if (page[nameEnd] === '{') {
    const close = closingBrace(page, nameEnd + 1, end);
    if (close < 0) return undefined;
    labels = page.slice(nameEnd + 1, close);
    valueStart = close + 1;
  }
  const text = page.slice(valueStart, end).trim().split(' ', 1)[0]!;
  // `NaN` and `+Inf` tell no load; Number() makes NaN of both spellings.
  const value = Number(text);
  return text === '' || !Number.isFinite(value) ? undefined : { name, labels, value };
}

/** A brace inside a quoted label value closes nothing. */
function closingBrace(page: string, start: number, end: number): number {
  let isQuoted = false;
  for (let at = start; at < end; at++) {
    const char = page[at];
    if (char === '\\') at += 1;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === '}' && !isQuoted) return at;
  }
  return -1;
}
