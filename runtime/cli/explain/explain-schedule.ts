import { KvasirError } from '../../../src/errors';
import type { Decision } from '../../router/observability/decision-ring';
import type { DebugPort } from '../look/debug-port';
import { type Look, nowOf } from '../look/look';
import { unknownName } from '../look/named';
import { ageText, durationText, UNKNOWN } from '../look/texts';
import { tableLines } from '../table';
import { type Explanation, section } from './explanation';

/** Decisions in the list. */
const MOST_LISTED = 20;

/** The router's debug port. @throws KvasirError `cli/needs-router` where none was asked. */
export function requireRouter({ router }: Look, what: string): DebugPort {
  if (router !== undefined) return router;
  throw new KvasirError({
    code: 'cli/needs-router',
    field: `explain ${what}`,
    message: 'only a running router knows it',
    remedy: 'give --router with its debug port, such as 127.0.0.1:15000 of a preview or of kubectl port-forward',
  });
}

/** The last decisions of a router, newest first. */
export async function decisionsOf(look: Look, what: string): Promise<readonly Decision[]> {
  return (await requireRouter(look, what).page<{ readonly decisions: readonly Decision[] }>('/debug/decisions')).decisions;
}

/** Where the last requests went, or why one of them went where it did. @param requestId absent: the list. */
export async function explainSchedule(look: Look, requestId: string | undefined): Promise<Explanation> {
  const all = await decisionsOf(look, 'schedule');
  if (requestId === undefined) return { lines: decisionTable(all.slice(0, MOST_LISTED), look), document: { decisions: all } };
  const own = all.filter((decision) => decision.requestId === requestId).reverse();
  if (own.length === 0) {
    throw unknownName(
      requestId,
      all.map((decision) => decision.requestId),
      'request',
    );
  }
  return { lines: own.flatMap((decision) => decisionLines(decision, look)), document: { decisions: own } };
}

/** One line for each decision. @param isOfOnePod whether all are about one pod, which is named already. */
export function decisionTable(decisions: readonly Decision[], look: Look, isOfOnePod = false): readonly string[] {
  if (decisions.length === 0) return ['the router has decided nothing yet, or explain.ringSize is 0'];
  return tableLines<Decision>(
    [
      { title: 'AGO', cell: ({ at }) => ageText(at, nowOf(look)) },
      { title: 'REQUEST', cell: ({ requestId }) => requestId, isText: true },
      { title: 'MODEL', cell: ({ model }) => model, isText: true },
      ...(isOfOnePod ? [] : [{ title: 'POD', cell: ({ endpoint }: Decision) => podOf(endpoint), isText: true as const }]),
      { title: 'TOKENS', cell: ({ promptTokens }) => String(promptTokens) },
      {
        title: 'CACHED',
        cell: ({ result, predictedCachedTokens }) => String(result?.cachedTokens ?? predictedCachedTokens ?? UNKNOWN),
      },
      { title: 'TTFT', cell: ({ result }) => (result?.ttftMs === undefined ? UNKNOWN : durationText(result.ttftMs)) },
      { title: 'OUTCOME', cell: ({ result }) => result?.outcome ?? 'under way', isText: true },
    ],
    decisions,
  );
}

/** Everything that is known of one attempt. */
function decisionLines(decision: Decision, look: Look): readonly string[] {
  const { explanation, result } = decision;
  const { candidates, removed, session, pairs, prefill } = explanation;
  const queued = decision.queuedMs === undefined ? '' : `, after ${durationText(decision.queuedMs)} in the queue`;
  return [
    `request ${decision.requestId}, attempt ${decision.attempt}, model ${JSON.stringify(decision.model)}, ${ageText(decision.at, nowOf(look))} ago${queued}`,
    ...section('route', decision.modelRoute === undefined ? [] : [`ModelRoute ${decision.modelRoute}`]),
    ...section('went to', [`${podOf(decision.endpoint)}, by profile ${explanation.profile}`]),
    ...section(
      'session',
      session === undefined ? [] : [`${session.outcome === 'kept' ? 'kept' : 'moved from'} ${podOf(session.endpoint)}`],
    ),
    ...section('weighed', candidateTable(candidates, decision.endpoint)),
    ...section('prefill', prefill === undefined ? [] : candidateTable(prefill.candidates, undefined)),
    ...section(
      'pairs',
      (pairs ?? []).map(
        ({ prefill: first, decode, cost, group }) =>
          `${first === undefined ? 'alone' : podOf(first)} → ${podOf(decode)}  ${cost.toFixed(4)}${group === undefined ? '' : `  (${group})`}`,
      ),
    ),
    ...section(
      'left out',
      Object.entries(removed).map(([filter, pods]) => `${pods.map(podOf).join(', ')} by ${filter}`),
    ),
    ...section('expected', expectations(decision)),
    ...section('came out', [
      result === undefined
        ? 'it is under way'
        : [
            result.outcome,
            ...(result.ttftMs === undefined ? [] : [`first token after ${durationText(result.ttftMs)}`]),
            ...(result.cachedTokens === undefined
              ? []
              : [`${result.cachedTokens} of ${result.promptTokens ?? UNKNOWN} prompt tokens were cached`]),
          ].join(', '),
    ]),
  ];
}

function expectations({ expectedTtftMs, predictedCachedTokens, promptTokens, explanation }: Decision): readonly string[] {
  const parts = [
    ...(expectedTtftMs === undefined ? [] : [`first token after ${durationText(expectedTtftMs)}`]),
    ...(predictedCachedTokens === undefined
      ? []
      : [`${predictedCachedTokens} of about ${promptTokens} prompt tokens in its cache`]),
    ...(explanation.scrapeAgeMs === undefined ? [] : [`by figures ${durationText(explanation.scrapeAgeMs)} old`]),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

type Candidate = Decision['explanation']['candidates'][number];

/** Terms of each candidate, the cheapest first. */
function candidateTable(candidates: readonly Candidate[], picked: string | undefined): readonly string[] {
  const terms = [...new Set(candidates.flatMap((candidate) => Object.keys(candidate.terms)))];
  const ordered = [...candidates].sort((a, b) => a.cost - b.cost);
  if (ordered.length === 0) return [];
  return tableLines<Candidate>(
    [
      { title: 'pod', cell: ({ endpoint }) => `${podOf(endpoint)}${endpoint === picked ? ' *' : ''}`, isText: true },
      { title: 'cost', cell: ({ cost }) => cost.toFixed(4) },
      ...terms.map((term) => ({ title: term, cell: (candidate: Candidate) => (candidate.terms[term] ?? 0).toFixed(4) })),
      { title: 'cached', cell: ({ cachedTokens }) => String(cachedTokens) },
    ],
    ordered,
  );
}

/** An endpoint's id without the pod's uid. */
export const podOf = (endpoint: string): string => endpoint.split('#')[0]!;
