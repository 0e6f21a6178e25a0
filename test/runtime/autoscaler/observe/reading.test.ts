import { kthenaReading } from '../../../../runtime/autoscaler/observe/kthena-reading';
import { parseMetricsPage } from '../../../../runtime/autoscaler/observe/metrics-page';
import { PageArchive } from '../../../../runtime/autoscaler/observe/page-archive';
import type { PodPage } from '../../../../runtime/autoscaler/observe/pod-pages';
import { readAnswer } from '../../../../runtime/autoscaler/observe/prometheus-query';
import type { AskedPod } from '../../../../runtime/autoscaler/observe/reading';
import { replicaReading } from '../../../../runtime/autoscaler/observe/replica-reading';
import type { Pod } from '../../../../src/api/pod';
import { readyPod } from '../../../helpers/fake-autoscaler-cluster';

const WINDOW_MS = 60_000;
const families = new Set(['load', 'usage_ratio', 'served_total', 'latency', 'sum_up', 'plain']);

/** A ready pod that answered with `texts`, one every 15 s, the last one now. */
function asked(name: string, texts: readonly string[], replica = name, more: Partial<Pod> = {}): AskedPod {
  const archive = new PageArchive(WINDOW_MS);
  let page: PodPage = { kind: 'unreachable', reason: `${name} gave no answer` };
  texts.forEach((text, i) => {
    const snapshot = { atMs: i * 15_000, page: parseMetricsPage(text, families) };
    page = { kind: 'page', ...snapshot, past: archive.file(name, 'start', snapshot) };
  });
  return { pod: readyPod(name, {}, '127.0.0.1', more), replica, page };
}

function silent(name: string, more: Partial<Pod>): AskedPod {
  return { pod: readyPod(name, {}, '127.0.0.1', more), replica: name };
}

const query = (family: string, isPerGroup = false) => ({ family, percentile: 95, isPerGroup });
const gauge = (value: number, name = 'load') => `# TYPE ${name} gauge\n${name}{e="0"} ${value}\n`;
const counter = (value: number) => `# TYPE served_total counter\nserved_total{r="a"} ${value}\nserved_total{r="b"} ${value}\n`;
const histogram = (fast: number, slow: number, series = '') =>
  ['1', '10', '+Inf'].map((le, i) => `latency_bucket{le="${le}"${series}} ${i === 0 ? fast : fast + slow}`).join('\n');
const latency = (fast: number, slow: number) => `# TYPE latency histogram\n${histogram(fast, slow)}\n`;

const unready = { status: { phase: 'Running' as const, podIP: '127.0.0.1' } };
const ends = { metadata: { name: 'z', deletionTimestamp: '2026-11-30T00:00:00Z' } };
const failed = { status: { phase: 'Failed' as const } };

describe('the default reading', () => {
  it('is one value per replica that answered', () => {
    const pods = [asked('a', [gauge(3)]), asked('b', [gauge(5)])];
    expect(replicaReading.read(pods, query('load'))).toEqual({ kind: 'samples', values: [3, 5], over: 'moment' });
  });

  it.each([
    ['unready', silent('z', unready)],
    ['ending', silent('z', ends)],
    ['failed', silent('z', failed)],
    ['unreachable', asked('z', [])],
  ])('leaves out a pod that is %s, and nothing else', (_, other) => {
    expect(replicaReading.read([asked('a', [gauge(3)]), other], query('load'))).toEqual({
      kind: 'samples',
      values: [3],
      over: 'moment',
    });
  });

  it('adds the pods of one replica, and leaves the replica out when one of them is silent', () => {
    const pods = [asked('a0', [gauge(3)], 'a'), asked('a1', [gauge(4)], 'a'), asked('b0', [gauge(5)], 'b'), asked('b1', [], 'b')];
    expect(replicaReading.read(pods, query('load'))).toEqual({ kind: 'samples', values: [7], over: 'moment' });
  });

  it('averages a role over its groups, since the role has one count for all of them', () => {
    const pods = [asked('g0', [gauge(4)], 'decode-0'), asked('g1', [gauge(8)], 'decode-0')];
    expect(replicaReading.read(pods, query('load', true))).toEqual({ kind: 'samples', values: [6], over: 'moment' });
  });

  it('averages shares over the engines of a pod, and adds amounts', () => {
    const shares = '# TYPE usage_ratio gauge\nusage_ratio{engine="0"} 0.4\nusage_ratio{engine="1"} 0.6\n';
    const amounts = '# TYPE load gauge\nload{engine="0"} 4\nload{engine="1"} 6\n';
    expect(replicaReading.read([asked('a', [shares])], query('usage_ratio'))).toEqual({
      kind: 'samples',
      values: [0.5],
      over: 'moment',
    });
    expect(replicaReading.read([asked('a', [amounts])], query('load'))).toEqual({
      kind: 'samples',
      values: [10],
      over: 'moment',
    });
  });

  it('takes a counter as its rate per second over the window', () => {
    const pages = [0, 0, 30, 60, 90, 120].map(counter);
    expect(replicaReading.read([asked('a', pages)], query('served_total'))).toEqual({
      kind: 'samples',
      values: [4],
      over: 'window',
    });
  });

  it('has no rate at the first sight of a counter', () => {
    expect(replicaReading.read([asked('a', [counter(100)])], query('served_total'))).toMatchObject({ kind: 'missing' });
  });

  it('counts from zero again after a counter went back', () => {
    expect(replicaReading.read([asked('a', [counter(1000), counter(30)])], query('served_total'))).toEqual({
      kind: 'samples',
      values: [4],
      over: 'window',
    });
  });

  it('takes a histogram as the percentile of what all replicas together observed', () => {
    const pods = [asked('a', [latency(0, 0), latency(97, 0)]), asked('b', [latency(0, 0), latency(0, 3)])];
    // Of 100 observations the 95th is among the 97 below 1 s, although b alone saw slow ones only.
    const reading = replicaReading.read(pods, query('latency'));
    expect(reading).toMatchObject({ kind: 'samples' });
    expect(reading.kind === 'samples' && reading.values).toEqual([95 / 97, 95 / 97]);
  });

  it('adds all series of a histogram', () => {
    const both = (n: number) => `# TYPE latency histogram\n${histogram(n, 0, ',m="x"')}\n${histogram(0, n, ',m="y"')}\n`;
    const reading = replicaReading.read([asked('a', [both(0), both(10)])], query('latency'));
    expect(reading.kind === 'samples' && reading.values[0]).toBeCloseTo(9.1, 10);
  });

  it('takes an untyped family as a gauge', () => {
    expect(replicaReading.read([asked('a', ['plain 4\n'])], query('plain'))).toEqual({
      kind: 'samples',
      values: [4],
      over: 'moment',
    });
  });

  it.each([
    ['no pods', [], 'the target has no pods'],
    ['no ready pod', [silent('a', unready)], 'no pod is ready'],
    ['no answer', [asked('a', [])], 'a gave no answer'],
    ['no such family', [asked('a', [gauge(1, 'plain')])], 'no pod exposes the family load'],
  ])('says why there is none: %s', (_, pods, reason) => {
    expect(replicaReading.read(pods, query('load'))).toEqual({ kind: 'missing', reason });
  });

  it('refuses a summary', () => {
    const page = '# TYPE sum_up summary\nsum_up{quantile="0.9"} 1\n';
    expect(replicaReading.read([asked('a', [page])], query('sum_up'))).toMatchObject({ kind: 'missing' });
  });
});

describe("Kthena's reading", () => {
  it('adds all pods to one value', () => {
    expect(kthenaReading.read([asked('a', [gauge(3)]), asked('b', [gauge(5)])], query('load'))).toEqual({
      kind: 'samples',
      values: [8],
    });
  });

  it.each([
    ['ending', silent('z', ends)],
    ['failed', silent('z', failed)],
    ['unreachable', asked('z', [])],
    [
      'restarted',
      asked('z', [gauge(1)], 'z', {
        status: {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True' }],
          containerStatuses: [{ name: 'c', ready: true, restartCount: 1 }],
        },
      }),
    ],
  ])('is missing when one pod is %s', (_, other) => {
    expect(kthenaReading.read([asked('a', [gauge(3)]), other], query('load'))).toMatchObject({ kind: 'missing' });
  });

  it('counts unready pods, and none of them beside a failed one', () => {
    expect(kthenaReading.countUnready([asked('a', []), silent('b', unready)])).toBe(1);
    expect(kthenaReading.countUnready([asked('a', []), silent('b', unready), silent('c', failed)])).toBe(0);
  });

  it('takes counters as raw totals', () => {
    expect(kthenaReading.read([asked('a', [counter(0), counter(100)])], query('served_total'))).toEqual({
      kind: 'samples',
      values: [200],
    });
  });

  it('adds the percentiles of the pods, over the lifetime until a window has passed', () => {
    const pods = [asked('a', [latency(100, 0)]), asked('b', [latency(100, 0)])];
    expect(kthenaReading.read(pods, query('latency'))).toEqual({ kind: 'samples', values: [1.9] });
    const grown = [...Array(4).fill(latency(100, 0)), latency(100, 0), latency(100, 100)];
    expect(kthenaReading.read([asked('a', grown)], query('latency'))).toMatchObject({ values: [9.55] });
  });

  it('fails on untyped families', () => {
    expect(kthenaReading.read([asked('a', ['plain 4\n'])], query('plain'))).toMatchObject({ kind: 'missing' });
  });
});

describe('the archive', () => {
  it('forgets a pod whose containers started anew', () => {
    const archive = new PageArchive(WINDOW_MS);
    const page = new Map();
    archive.file('k', 'first', { atMs: 0, page });
    expect(archive.file('k', 'second', { atMs: 90_000, page })).toEqual({});
  });

  const filed = (archive: PageArchive, times: readonly number[]) =>
    times.map((atMs) => archive.file('k', 'start', { atMs, page: new Map() })).at(-1)!;

  it('keeps what is one window old and what is younger', () => {
    const past = filed(
      new PageArchive(WINDOW_MS),
      Array.from({ length: 102 }, (_, i) => i * 15_000),
    );
    expect(past.windowAgo?.atMs).toBe(101 * 15_000 - WINDOW_MS);
    expect(past.oldest).toBe(past.windowAgo);
    expect(past.last?.atMs).toBe(100 * 15_000);
  });

  it('compares with nothing that is older than five windows', () => {
    expect(filed(new PageArchive(WINDOW_MS), [0, 5 * WINDOW_MS]).windowAgo?.atMs).toBe(0);
    expect(filed(new PageArchive(WINDOW_MS), [0, 5 * WINDOW_MS + 1])).toEqual({});
  });
});

describe("Prometheus' answers", () => {
  const vector = (...values: string[]) =>
    JSON.stringify({
      status: 'success',
      data: { resultType: 'vector', result: values.map((v) => ({ metric: {}, value: [1, v] })) },
    });

  it.each([
    ['one sample', vector('2.5'), { kind: 'external', value: 2.5 }],
    [
      'a scalar',
      JSON.stringify({ status: 'success', data: { resultType: 'scalar', result: [1, '3'] } }),
      { kind: 'external', value: 3 },
    ],
    ['no sample', vector(), { kind: 'missing', reason: 'the query gives 0 samples; make it give one' }],
    ['two samples', vector('1', '2'), { kind: 'missing', reason: 'the query gives 2 samples; make it give one' }],
    ['no number', vector('NaN'), { kind: 'missing', reason: 'the query gives NaN' }],
    ['an error', JSON.stringify({ status: 'error', error: 'bad' }), { kind: 'missing', reason: 'Prometheus refused the query' }],
    ['no JSON', '<html>', { kind: 'missing', reason: 'the answer of Prometheus is not JSON' }],
    ['null', 'null', { kind: 'missing', reason: 'Prometheus refused the query' }],
  ])('%s', (_, text, expected) => {
    expect(readAnswer(text)).toEqual(expected);
  });
});
