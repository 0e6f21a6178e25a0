import { dayChart } from '../../../../runtime/cli/scaling-proof/report/day-chart';

const point = (atMs: number, load: number, pods: readonly number[]) => ({
  atMs,
  load,
  pods,
  costPerHour: 2 * pods[0]! + pods[1]!,
});

describe('the chart of a day', () => {
  const chart = dayChart({
    title: 'bursts & more, day 7',
    pools: ['A100', 'L40S'],
    durationMs: 8 * 3_600_000,
    days: [
      { name: 'kvasir', caption: '$10, 0 % missed', points: [point(0, 1, [1, 1]), point(3_600_000, 4, [2, 1])] },
      { name: 'hpa', caption: '$12, 1 % missed', points: [point(0, 1, [1, 2]), point(3_600_000, 4, [2, 2])] },
    ],
  });

  it('has a panel of load, one of replicas for each strategy, and one of cost', () => {
    const titles = [...chart.matchAll(/font-weight="600">([^<]*)</g)].map(([, title]) => title);
    expect(titles).toEqual(['bursts &amp; more, day 7', 'Load, requests/s', 'kvasir: pods', 'hpa: pods', 'Cost, USD/h']);
    expect(chart.match(/<polygon/g)).toHaveLength(4);
    expect(chart.match(/<polyline/g)).toHaveLength(3);
  });

  it('draws each pool upon the one before, to one scale for all strategies', () => {
    const polygons = [...chart.matchAll(/<polygon points="([^"]*)"/g)].map(([, points]) =>
      points!.split(' ').map((pair) => pair.split(',').map(Number)),
    );
    const heights = polygons.map((corners) => corners[3]![1]! - corners[0]![1]!);
    // Four pods are the most that any has, in 110 pixels.
    expect(heights).toEqual([27.5, 27.5, 27.5, 55]);
    expect(polygons[1]![3]).toEqual(polygons[0]![0]);
  });

  it('is well-formed, and names its hours', () => {
    expect(chart.match(/<svg /g)).toHaveLength(1);
    expect(chart.trim().endsWith('</svg>')).toBe(true);
    expect(chart).toContain('>8 h</text>');
  });
});
