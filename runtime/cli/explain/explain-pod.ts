import { keyOf, selects } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { acceleratorOf, gpusOf } from '../../../src/expand/pod-accelerators';
import type { EndpointStatus } from '../../router/scheduling/scheduling';
import { type Look, nowOf, objectsOf } from '../look/look';
import { named } from '../look/named';
import { podState } from '../look/pod-state';
import { ageText, durationText, shareText, UNKNOWN } from '../look/texts';
import { decisionsOf, decisionTable, podOf } from './explain-schedule';
import { type Explanation, section } from './explanation';

/** Decisions about it in the list. */
const MOST_LISTED = 8;

/** What a pod is, whether and why it gets requests, and the last ones that it got. */
export async function explainPod(look: Look, name: string, namespace: string | undefined): Promise<Explanation> {
  const pod = named(name, objectsOf(look, 'Pod'), 'pod', namespace);
  const key = keyOf(pod);
  const state = podState(pod);
  const workload = look.snapshot.workloads.find(({ pods }) => pods.includes(key));
  const servers = serversOf(pod, look);
  const seen = look.endpoints?.get(key);
  const decisions =
    look.router === undefined ? [] : (await decisionsOf(look, 'pod')).filter(({ endpoint }) => podOf(endpoint) === key);
  const model = acceleratorOf(pod)?.name;
  const gpus = gpusOf(pod);
  return {
    lines: [
      `Pod ${key}: ${state.status}, ${state.containers} containers ready, ${state.restarts} restarts, ${ageText(pod.metadata.creationTimestamp, nowOf(look))} old`,
      ...section('why', state.why === undefined ? [] : [state.why]),
      ...section(
        'made by',
        workload === undefined
          ? ['no workload that is seen from here']
          : [`${workload.target.kind} ${workload.target.namespace}/${workload.target.name}`],
      ),
      ...section('on', gpus === 0 ? [] : [`${gpus}×${model ?? 'an accelerator that the catalogue does not have'}`]),
      ...section(
        'serves',
        servers.map(({ key: server, lacks }) =>
          lacks.length === 0
            ? `ModelServer ${server} selects it`
            : `ModelServer ${server} does not select it: it lacks ${lacks.join(', ')}`,
        ),
      ),
      ...section('router', look.router === undefined ? [] : routerLines(seen, state.isReady)),
      ...section('requests', decisions.length === 0 ? [] : decisionTable(decisions.slice(0, MOST_LISTED), look, true)),
    ],
    document: {
      pod: key,
      ...state,
      workload: workload === undefined ? null : workload.target,
      servers,
      router: seen ?? null,
      decisions,
    },
  };
}

interface ServerOfPod {
  readonly key: string;
  /** Labels that it wants and the pod lacks. */
  readonly lacks: readonly string[];
}

/** ModelServers that select the pod; where none does, the nearest one and what is missing. */
function serversOf(pod: Pod, look: Look): readonly ServerOfPod[] {
  const all = objectsOf(look, 'ModelServer')
    .filter(({ metadata }) => (metadata.namespace ?? 'default') === (pod.metadata.namespace ?? 'default'))
    .map((server) => {
      const wanted = Object.entries(server.spec.workloadSelector.matchLabels ?? {});
      const lacks = wanted.filter(([name, value]) => !selects({ matchLabels: { [name]: value } }, pod.metadata.labels));
      return { key: keyOf(server), lacks: lacks.map(([name, value]) => `${name}=${value}`), wanted: wanted.length };
    })
    .sort((a, b) => a.lacks.length - b.lacks.length);
  const selecting = all.filter(({ lacks, wanted }) => lacks.length === 0 && wanted > 0);
  return (selecting.length > 0 ? selecting : all.slice(0, 1)).map(({ key, lacks }) => ({ key, lacks }));
}

function routerLines(seen: EndpointStatus | undefined, isReady: boolean): readonly string[] {
  if (seen === undefined)
    return [isReady ? 'does not know it: no ModelServer selects it, or it was not seen yet' : 'does not use it: it is not ready'];
  const use = seen.isEjected
    ? 'leaves it alone for a while, because requests to it failed'
    : seen.isAvailable
      ? 'sends it requests'
      : 'sends it no new requests: it is not ready, or drains';
  const scraped =
    seen.scrapeAgeMs === undefined ? 'its metrics were never read' : `metrics read ${durationText(seen.scrapeAgeMs)} ago`;
  return [
    use,
    `${seen.inFlight} in flight from routers, ${Math.round(seen.queuedTokens)} prompt tokens sent and not yet computed`,
    `${seen.running ?? UNKNOWN} running, ${seen.waiting ?? UNKNOWN} waiting, KV cache ${seen.kvUsage === undefined ? UNKNOWN : shareText(Math.round(100 * seen.kvUsage) / 100)}; ${scraped}`,
    `${Math.round(seen.prefillTokensPerSecond)} prompt tokens per second, as learned; ${Math.round(seen.indexedBytes / 1024)} KiB of prompts believed in its cache`,
    ...(seen.models === undefined ? [] : [`lists ${seen.models.join(', ')}`]),
  ];
}
