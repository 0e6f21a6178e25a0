import { scheduledReplicas } from '../../../../runtime/autoscaler/observe/scheduled-replicas';
import { AutoscalerRig, policyOf, runningPage } from '../../../helpers/autoscaler-rig';

const office = { timeZone: 'Europe/Berlin', days: ['Mon', 'Fri'] as const, from: '08:00', to: '18:00', replicas: 4 };
const night = { timeZone: 'UTC', days: ['Fri'] as const, from: '22:00', to: '06:00', replicas: 2 };

describe('replicas that schedules want', () => {
  it.each([
    ['before it begins, by the clocks of its zone', office, '2026-11-30T06:59:00Z', 0],
    ['from its first minute', office, '2026-11-30T07:00:00Z', 4],
    ['an hour earlier in summer time', office, '2026-07-03T06:00:00Z', 4],
    ['not at its last minute', office, '2026-11-30T17:00:00Z', 0],
    ['not on another day', office, '2026-12-01T10:00:00Z', 0],
    ['in the evening that it begins on', night, '2026-12-04T23:00:00Z', 2],
    ['in the morning after it', night, '2026-12-05T05:59:00Z', 2],
    ['not in the morning before it', night, '2026-12-04T05:00:00Z', 0],
    ['not in a zone that nobody knows', { ...office, timeZone: 'Mars/Base' }, '2026-11-30T10:00:00Z', 0],
  ])('%s', (_sentence, schedule, at, expected) => {
    expect(scheduledReplicas([schedule], Date.parse(at))).toBe(expected);
  });

  it('are the greatest of all that are in force', () => {
    const day = { timeZone: 'UTC', from: '00:00', to: '00:00', replicas: 7 };
    expect(scheduledReplicas([office, day], Date.parse('2026-11-30T10:00:00Z'))).toBe(7);
  });
});

describe('a policy with schedules', () => {
  it('has as many replicas at least, and goes with its metrics outside of them', async () => {
    const rig = await AutoscalerRig.open();
    // The rig's time is Monday, 12:00 UTC.
    const schedules = [{ from: '11:00', to: '12:01', replicas: 5 }];
    const behavior = { scaleUp: { stablePolicy: { instances: 9 } }, scaleDown: { stabilizationWindow: '0s', period: '0s' } };
    rig.cluster.target('Deployment', 'chat', 1);
    rig.pods('chat', 1, runningPage(10));
    rig.cluster.put(rig.policy('p', 'chat', { schedules, behavior }));
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(5);
    rig.pods('chat', 5, runningPage(2));
    for (let i = 0; i < 4; i++) await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(1);
    await rig.close();
  });

  it('is refused with a time zone that nobody knows', () => {
    const spec = {
      metrics: [{ name: 'x', targetValue: 1 }],
      schedules: [{ timeZone: 'Mars/Base', from: '08:00', to: '18:00', replicas: 1 }],
    };
    expect(() => policyOf('p', { spec })).toThrow('autoscaling/time-zone');
  });
});
