import type { LaneReason, LaneStatus, QueueStatus, WaitingStatus } from '../../router/admission/queue/queue-status';
import type { Look } from '../look/look';
import { counted, durationText, UNKNOWN } from '../look/texts';
import { tableLines } from '../table';
import { requireRouter } from './explain-schedule';
import type { Explanation } from './explanation';

/** Requests in the list; the document has all that the router tells. */
const MOST_LISTED = 20;

const REASONS: Readonly<Record<LaneReason, string>> = {
  full: 'every pod has as many sequences, or as many prompt tokens to compute, as it takes',
  asleep: 'no pod runs, and one is being woken',
  'max-concurrent': 'the model has as many requests at its pods as queue.models allows',
  next: 'there is room: the next one goes now',
};

/** What waits in the router, for what, how long, and why. */
export async function explainQueue(look: Look): Promise<Explanation> {
  const queue = await requireRouter(look, 'queue').page<QueueStatus>('/debug/queue');
  if (queue.requests === 0) return { lines: ['nobody waits: every request found a pod with room'], document: queue };
  const hasClasses = queue.waiting.some(({ priorityClass }) => priorityClass !== undefined);
  const hasUsers = queue.waiting.some(({ user }) => user !== undefined);
  return {
    lines: [
      `${counted(queue.requests, 'request')} wait${queue.requests === 1 ? 's' : ''}, ${Math.ceil(queue.bytes / 1024)} KiB`,
      ...queue.lanes.flatMap(laneLines),
      ...(queue.leftOff.lanes === 0 ? [] : [`and ${counted(queue.leftOff.lanes, 'more lane')}`]),
      '',
      ...tableLines<WaitingStatus>(
        [
          { title: 'WAITS', cell: ({ waitedMs }) => durationText(waitedMs) },
          { title: 'REQUEST', cell: ({ requestId }) => requestId, isText: true },
          { title: 'MODEL', cell: ({ model }) => model, isText: true },
          ...(hasClasses
            ? [{ title: 'CLASS', cell: ({ priorityClass }: WaitingStatus) => priorityClass ?? UNKNOWN, isText: true as const }]
            : []),
          ...(hasUsers ? [{ title: 'USER', cell: userText, isText: true as const }] : []),
          { title: 'TOKENS', cell: ({ tokens }) => String(tokens) },
        ],
        queue.waiting.slice(0, MOST_LISTED),
      ),
      ...(queue.requests > MOST_LISTED ? [`and ${queue.requests - MOST_LISTED} more`] : []),
    ],
    document: queue,
  };
}

function laneLines({ model, servers, only, reason, requests, tokens, longestMs, expectedMs }: LaneStatus): readonly string[] {
  const where = only === undefined ? `ModelServer ${servers.join(', ')}` : `the pod ${only.split('#')[0]} alone`;
  return [
    `${requests} for ${model}, on ${where}: ${REASONS[reason]}`,
    `  ${tokens} prompt tokens, the longest wait is ${durationText(longestMs)}, a newcomer would wait ${durationText(expectedMs)}`,
  ];
}

const userText = ({ user, tenant }: WaitingStatus): string =>
  [tenant, user].filter((name) => name !== undefined).join('/') || UNKNOWN;
