import { DAYS, type Day, type ScalingSchedule } from '../../../src/api/scaling-schedule';

/** Name of the metric that `spec.schedules` stands for. */
export const SCHEDULE_METRIC = 'schedule';

/**
 * Replicas that the schedules want at a time; of several the greatest counts. Clocks of the zone are read as people there read them, so that a
 * schedule follows summer time.
 *
 * @param nowMs milliseconds since the epoch.
 * @returns 0 where none is in force. A schedule of an unknown time zone never is.
 */
export function scheduledReplicas(schedules: readonly ScalingSchedule[], nowMs: number): number {
  return Math.max(0, ...schedules.filter((schedule) => isInForce(schedule, nowMs)).map(({ replicas }) => replicas));
}

function isInForce({ timeZone, days = DAYS, from, to }: ScalingSchedule, nowMs: number): boolean {
  const now = localTime(timeZone, nowMs);
  if (now === undefined) return false;
  const { day, time } = now;
  const yesterday = DAYS[(DAYS.indexOf(day) + 6) % 7]!;
  // Times of one form compare as text.
  if (from < to) return days.includes(day) && time >= from && time < to;
  return (days.includes(day) && time >= from) || (days.includes(yesterday) && time < to);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(timeZone: string, nowMs: number): { readonly day: Day; readonly time: string } | undefined {
  let format = formats.get(timeZone);
  if (format === undefined) {
    try {
      format = new Intl.DateTimeFormat('en-US', {
        timeZone,
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
      });
    } catch {
      return undefined;
    }
    formats.set(timeZone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(nowMs).map(({ type, value }) => [type, value]));
  return { day: parts.weekday as Day, time: `${parts.hour}:${parts.minute}` };
}
