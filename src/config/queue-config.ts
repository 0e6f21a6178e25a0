import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { HTTP_TOKEN } from '../api/model-route';
import type { Finding } from '../errors';

const closed = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { default: {}, additionalProperties: false, description });

const milliseconds = (minimum: number, maximum: number, description: string, value?: number) =>
  Type.Integer({
    minimum,
    maximum,
    ...(value === undefined ? {} : { default: value }),
    description: `${description} Milliseconds.`,
  });

const weight = (value: number, description: string) =>
  Type.Number({ minimum: 0, maximum: 1_000_000, default: value, description });

const className = (description: string) =>
  Type.String({ minLength: 1, maxLength: 63, pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$', description });

/** Longest wait that can be asked for: an hour. */
const LONGEST_WAIT_MS = 3_600_000;

const classSchema = Type.Object(
  {
    name: className('Name, as API keys, claims and the header have it.'),
    maxWaitMs: Type.Optional(milliseconds(1, LONGEST_WAIT_MS, 'Longest wait of its requests. Absent: `queue.maxWaitMs`.')),
    queueShare: Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      default: 1,
      description: 'How full the queue may be, of its bounds, for a request of this class to be let in.',
    }),
  },
  { additionalProperties: false, description: 'A class of requests that wait.' },
);

const modelPolicy = Type.Object(
  {
    maxExpectedWaitMs: Type.Optional(milliseconds(1, LONGEST_WAIT_MS, 'As `queue.maxExpectedWaitMs`, for this model.')),
    overflow: Type.Optional(Type.Boolean({ description: 'As `queue.overflow`, for this model.' })),
    maxConcurrent: Type.Optional(Type.Integer({ minimum: 1, description: 'As `queue.fairness.maxConcurrent`, for this model.' })),
  },
  { additionalProperties: false, description: 'What differs for one model; absent fields are as for all others.' },
);

const fairnessSchema = closed('Order between users, by what they used lately; Kthena’s user-fairness queue.', {
  enabled: Type.Boolean({
    default: false,
    description: 'Whether users that used less go first. Requests without a user share one account.',
  }),
  windowMs: milliseconds(60_000, 3_600_000, 'Time that counts as lately.', 300_000),
  inputTokenWeight: weight(1, 'What a prompt token counts.'),
  outputTokenWeight: weight(2, 'What a generated token counts.'),
  priorityTokenWeight: weight(1, 'What the weighted tokens count in the order.'),
  priorityRequestNumWeight: weight(0, 'What a request counts in the order.'),
  maxConcurrent: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: 'Requests of one model that this router has at endpoints at one time, enabled or not. 0: as many as pods take.',
  }),
});

const sessionBoostSchema = closed('Order between sessions; Kthena’s session boost.', {
  enabled: Type.Boolean({
    default: false,
    description:
      'Whether a request goes first whose session had an answer lately: its pod still has the conversation in its cache.',
  }),
  header: Type.String({
    pattern: HTTP_TOKEN,
    default: 'X-Session-ID',
    description: 'Header that names the session.',
  }),
  maxSessions: Type.Integer({ minimum: 1, maximum: 10_000_000, default: 4096, description: 'Sessions that are remembered.' }),
  inflightPerPod: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Most sequences that a pod takes, below its own limit. Absent: its own limit.' }),
  ),
  gracePeriodMs: milliseconds(0, 60_000, 'How long freed room is kept for the next request of the session that freed it.', 0),
});

const wakeSchema = closed('Requests for a model that has no ready pod, and whose workload sleeps at zero replicas or starts.', {
  enabled: Type.Boolean({
    default: true,
    description: 'Whether they are held, and the workload is woken by its lease. Off: 503 at once.',
  }),
  silentMs: milliseconds(
    1,
    LONGEST_WAIT_MS,
    'How long they are held without a word. After it a request that streams gets status 200 and comments, and errors as events; any other gets 503.',
    10_000,
  ),
  commentMs: milliseconds(50, 60_000, 'From one comment to the next.', 10_000),
  maxMs: milliseconds(1, LONGEST_WAIT_MS, 'Longest hold of a stream.', 600_000),
});

/** How requests wait for room in pods. */
export const queueConfigSchema = closed('How requests wait for room in pods.', {
  lateBinding: Type.Boolean({
    default: true,
    description:
      'Whether requests wait here while no pod has room: fewer sequences than its `max_num_seqs`, and fewer prompt tokens to prefill than two steps take. Off: everything waits in the engines, first come, first served.',
  }),
  maxRequests: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 4096,
    description: 'Requests that may wait; 503 beyond.',
  }),
  maxBytes: Type.Integer({ minimum: 0, default: 256 * 2 ** 20, description: 'Bytes of bodies that may wait; 503 beyond.' }),
  maxWaitMs: milliseconds(1, LONGEST_WAIT_MS, 'Longest wait; 503 after it.', 60_000),
  maxExpectedWaitMs: Type.Optional(
    milliseconds(
      1,
      LONGEST_WAIT_MS,
      'A request that would wait longer than this before its own prompt is prefilled, by what is queued before it in the router and in the pods, is refused at once. Absent: none is.',
    ),
  ),
  overflow: Type.Boolean({
    default: false,
    description:
      'Whether a request that would be refused for want of room goes to an ExternalModelProvider of its rule, one of weight 0 included.',
  }),
  tenantConcurrency: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: 'Requests that one tenant (a user without a tenant for itself) may have under way; 429 beyond. 0: no limit.',
  }),
  classes: Type.Array(classSchema, {
    maxItems: 32,
    default: [],
    description: 'Priority classes, the first to go first. Empty: one for everybody.',
  }),
  defaultClass: Type.Optional(
    className('Class of requests that name none, or none of `classes`. Absent: the last of `classes`.'),
  ),
  classHeader: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]+$',
      description:
        'Lower-case name of a header that names the class. A proxy of `trustedProxies` may name any; everybody may name a later one than their own.',
    }),
  ),
  fairness: fairnessSchema,
  sessionBoost: sessionBoostSchema,
  wake: wakeSchema,
  models: Type.Record(Type.String({ minLength: 1 }), modelPolicy, {
    default: {},
    description: 'Exceptions, by the model name that clients use.',
  }),
});

export type QueueConfig = Static<typeof queueConfigSchema>;

/** What of `queue` cannot be meant as written. */
export function queueFindings({ classes, defaultClass }: QueueConfig): readonly Finding[] {
  const names = classes.map(({ name }) => name);
  const twice = names.findIndex((name, i) => names.indexOf(name) < i);
  if (twice >= 0) {
    return [invalid(`queue.classes.${twice}.name`, `${JSON.stringify(names[twice])} is named before`, 'name each class once')];
  }
  if (defaultClass === undefined || names.includes(defaultClass)) return [];
  const remedy = names.length === 0 ? 'list it in queue.classes' : `use one of ${names.join(', ')}`;
  return [invalid('queue.defaultClass', `${JSON.stringify(defaultClass)} is none of queue.classes`, remedy)];
}

function invalid(field: string, message: string, remedy: string): Finding {
  return { code: 'config/invalid-value', severity: 'error', field, message, remedy };
}
