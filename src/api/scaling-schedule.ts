import { error, type Problem, shown } from './problem';
import { type Decoded, defaulted, int32, listOf, object, oneOf, optional, text } from './schema';

/** Days as schedules name them, Sunday first, as `Date` counts them. */
export const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
export type Day = (typeof DAYS)[number];

const timeOfDay = (description: string) => text(description, { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });

export const scalingScheduleSchema = object(
  {
    timeZone: defaulted(text('IANA time zone of `from` and `to`, such as `Europe/Berlin`.', { minLength: 1 }), 'UTC'),
    days: optional(
      listOf(oneOf(DAYS, 'Day of the week.'), { minItems: 1, description: 'Days on which it begins. Absent: every day.' }),
    ),
    from: timeOfDay('When it begins, as HH:MM.'),
    to: timeOfDay('When it ends, as HH:MM; not later than `from`: on the next day.'),
    replicas: int32('Replicas that are wanted in that time at least: of one workload, of all pools together, of each role.', {
      minimum: 1,
      maximum: 1_000_000,
    }),
  },
  { description: 'A time of the week in which load is expected. An extension of Kvasir.' },
);

export type ScalingSchedule = Decoded<typeof scalingScheduleSchema>;

/** Time zones must be known. */
export function* scheduleRules(schedules: readonly ScalingSchedule[]): Iterable<Problem> {
  for (const [i, { timeZone }] of schedules.entries()) {
    if (isTimeZone(timeZone)) continue;
    const remedy = 'use an IANA name, such as Europe/Berlin';
    yield error(`spec.schedules[${i}].timeZone`, 'autoscaling/time-zone', `${shown(timeZone)} is no time zone`, remedy);
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
