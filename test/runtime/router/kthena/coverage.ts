/** A test that shows something: its file under `test/runtime/router` (or from `test/` with a leading slash), and its title or that of its group. */
type Shown = readonly [file: string, title: string];

/** How a row of Kthena's specification is answered here. */
export type Coverage = readonly Shown[] | { readonly none: string };

const GATEWAY = { none: 'only with the Gateway API, which this router does not take part in yet' };

const routing = (title: string): Shown => ['kthena/routing-parity.test.ts', title];
const limit = (title: string): Shown => ['kthena/limit-parity.test.ts', title];
const plugin = (title: string): Shown => ['kthena/plugin-parity.test.ts', title];
const request = (title: string): Shown => ['kthena/request-bugs.test.ts', title];
const object = (title: string): Shown => ['kthena/object-bugs.test.ts', title];
const scheduling = (title: string): Shown => ['kthena/scheduling-bugs.test.ts', title];
const pd = (title: string): Shown => ['disaggregation/kthena-e2e.test.ts', title];

/** Kthena's end-to-end tests, by their names in its specification (§11), and what it asks to have tested besides. */
export const END_TO_END: Readonly<Record<string, Coverage>> = {
  ModelRouteSimple: [routing('ModelRouteSimple: a route to one ModelServer')],
  ModelRouteMultiModels: [routing('ModelRouteMultiModels: a header chooses the model, and anything else the default')],
  PrefillDecodeDisaggregation: [pd('PrefillDecodeDisaggregation: pods told apart by rolename, vLLM without a connector')],
  PrefillDecodeMultinode: [pd('PrefillDecodeMultinode: workers that serve nothing are not selected')],
  SglangPrefillDecode: [pd('SglangPrefillDecode: simulators in disaggregation mode on port 30000')],
  'ModelRouteSubset / WeightedTrafficDistribution': [
    routing('ModelRouteSubset: 500 requests are drawn by weights 70 and 30, and after an update by 50 and 30'),
  ],
  'ModelRouteSubset / WeightSumNot100Percent': [
    routing('ModelRouteSubset: 500 requests are drawn by weights 70 and 30, and after an update by 50 and 30'),
  ],
  'WithRateLimit / input': [
    limit('ModelRouteWithRateLimit: about three prompts of ten tokens pass a limit of 30, and the next is 429'),
  ],
  'WithRateLimit / window accuracy': [
    limit('ModelRouteWithRateLimit: what is empty refuses at once and ten seconds later, and is full after a window'),
  ],
  'WithRateLimit / reset': [limit('ModelRouteWithRateLimit: a whole quota is there again after a window')],
  'WithRateLimit / output': [
    limit('ModelRouteWithRateLimit: with the limit of input removed, that of output refuses, and says so (B7)'),
  ],
  'WithGlobalRateLimit / connection': [limit('ModelRouteWithGlobalRateLimit: a limit is reached by requests to one router')],
  'WithGlobalRateLimit / sharing': [limit('ModelRouteWithGlobalRateLimit: three routers share what one would have')],
  'WithGlobalRateLimit / Redis unavailable': [
    limit('ModelRouteWithGlobalRateLimit: requests are served while Redis cannot be found'),
  ],
  'WithGlobalRateLimit / multiple routes sharing a model': [
    limit('ModelRouteWithGlobalRateLimit: two routes of one model serve, each its own requests'),
  ],
  ModelRouteLora: [
    routing('ModelRouteLora: adapters that one pod of three has, loaded while it runs, and one that no route names'),
  ],
  DuplicatePreferOldest: [
    routing('DuplicatePreferOldest: the older of two routes of one model counts, and the other one once it is deleted'),
  ],
  Metrics: [routing('Metrics: counts grow by exactly what was sent, and an unknown model is told as such')],
  RateLimitMetrics: [limit('RateLimitMetrics: every 429 that a client saw is counted once in both places')],
  SglangMetrics: [routing('SglangMetrics: load and latencies are read in the words of SGLang')],
  RouterConfigUpdate: [
    plugin('RouterConfigUpdate: another configuration file is obeyed, without a restart, and nothing of the old one is left'),
  ],
  KthenaRouterValidatingWebhook: [
    ['/constructs/platform/admission-policies.test.ts', 'judge %s as TypeScript does'],
    ['/src/api/networking-rules.test.ts', 'has no empty adapter'],
  ],
  DebugServer: [routing('DebugServer: every list answers a JSON object, and the port is on loopback alone')],
  PrefixCache: [plugin('PrefixCache: identical prompts go to one pod')],
  LeastRequest: [plugin('LeastRequest: pods where requests wait get none, the idle one all')],
  GPUCacheUsage: [plugin('GPUCacheUsage: the pod whose cache is empty gets the requests')],
  LeastLatency: [plugin('LeastLatency: a slow pod gets hardly any')],
  LoraAffinity: [plugin('LoraAffinity: requests for an adapter go to the one pod that has it, under a random score')],
  Random: [plugin('Random: every pod gets about a third')],
  'DuplicateModelName (Gateway)': GATEWAY,
  'GIE basic': GATEWAY,
  BothAPIs: GATEWAY,
  'HTTPRoute after a restart, Gateway after its HTTPRoute': GATEWAY,
  'unit: HTTPRoute precedence': GATEWAY,
  'unit: ordering of pod and ModelServer events': [object('B35: of changes that come fast the last one counts')],
  'unit: admission and abandonment': [
    [
      'admission/queue/request-queue.test.ts',
      '200 of three users with clients that leave: everybody is told, those of a later class first that they must go, and nothing is left',
    ],
  ],
  'unit: providers byte for byte': [
    [
      'providers/providers.test.ts',
      'gets the request byte for byte but for the model, with its own credential and little else of the client',
    ],
  ],
  'unit: hash vectors': [['cache/block-hashes.test.ts', 'block hashes of a prompt']],
  'gap: streaming through the router': [['relay.test.ts', 'a recorded exchange']],
  'gap: failure and retry of prefill and decode': [
    ['disaggregation/hand-offs.test.ts', 'decode that dies before it begins is replaced by another, with a new prefill'],
  ],
  'gap: JWT': [['admission/authenticate.test.ts', 'of the issuer let a request through, once for all its requests']],
  'gap: fairness and session boost': [
    [
      'admission/queue/request-queue.test.ts',
      'go first where their session had an answer last, and only with its own user’s sessions',
    ],
  ],
  'gap: external providers': [['official-clients.test.ts', 'the official Anthropic client']],
  'gap: drain': [request('B3: a router that is told to end withdraws readiness first, and lets a stream run to its end')],
  'gap: Redis outage at run time': [
    [
      'admission/limits/redis-store.test.ts',
      'are counted in Redis again when it is back, and what passed meanwhile is taken from them',
    ],
  ],
  'gap: relabelled pods': [
    object('B14: a pod that is relabelled gets nothing more, and a selector that matches nothing has no pods'),
  ],
  'gap: kvcache-aware': [['kvcache-aware.test.ts', 'scores pods of %s by the blocks that they hold from the first one on']],
};

/** Bugs of Kthena's router, by their number in its specification (§10). */
export const BUGS: Readonly<Record<string, Coverage>> = {
  B1: [['admission/authenticate.test.ts', 'is refused on every path except health (B1: paths outside /v1 were open)']],
  B2: [
    request('B2: an engine’s 400 goes to the client as it is, after one attempt, and its 404 and 422 too'),
    request('B2: when every attempt failed, the client gets the last answer of an engine, not a 503 of the router'),
  ],
  B3: [request('B3: a router that is told to end withdraws readiness first, and lets a stream run to its end')],
  B4: [scheduling('B4: pods that nobody scores are still there: %s')],
  B5: GATEWAY,
  B6: [
    [
      'admission/limits.test.ts',
      'B6: an answer larger than what is left is charged in full, and the debt is paid before the next',
    ],
    ['admission/limits.test.ts', 'B6: a refusal for output takes no input'],
  ],
  B7: [
    ['admission/limits.test.ts', 'B7: removing a limit, or the whole of them, ends it at once'],
    ['admission/limits.test.ts', 'B7: a change that does not touch the limits refills nothing'],
    ['admission/limits.test.ts', 'B7: two routes of one model have limits of their own, and deleting one leaves the other’s'],
    ['admission/limits.test.ts', 'B7: requests for adapters count against the route that serves them'],
  ],
  B8: [['admission/limits.test.ts', 'B8: each route is counted in the Redis that it names']],
  B9: [['disaggregation/protocols.test.ts', 'B9: a prefill that fails after decode answered changes nothing']],
  B10: [scheduling('B10: a hand-over is in the access log, the metrics and the usage like any other request')],
  B11: [
    scheduling('B11: lora-affinity lets requests by a virtual name pass, whose model no engine lists'),
    scheduling('B11: session boost counts the pods that serve a virtual name, not those that list it'),
    ['kvcache-aware.test.ts', 'scores pods of %s by the blocks that they hold from the first one on'],
  ],
  B12: [request('B12: overload is 503 with Retry-After, never 400')],
  B13: [object('B13: what is deleted is gone: route, pods, server, and they serve again when they are back')],
  B14: [
    object('B14: a pod that is relabelled gets nothing more, and a selector that matches nothing has no pods'),
    object('B14: a pod whose role changes is in the other role, and in no more than one'),
  ],
  B15: [object('B15: a pod whose metrics hang makes nobody else’s old, and B29: the router is alive while it waits for them')],
  B16: [object('B16: a family that is missing is unknown, ranks count together, and older names are read')],
  B17: [object('B17: what is in flight at a pod stays right through a phase of not being ready, and is zero in the end')],
  B18: [
    [
      'admission/queue/request-queue.test.ts',
      'B18: go by what each user used, with anonymous requests as one user that never jumps to the front',
    ],
    ['admission/queue/fair-queue.test.ts', 'B18: remembers no more accounts than it is to'],
  ],
  B19: [request('B19: a ModelServer’s retry is obeyed: none with 0 attempts, and two more with 2')],
  B20: [request('B20: an engine whose ModelServer says https is asked over TLS, for its metrics too')],
  B21: [['admission/queue/request-queue.test.ts', 'B21: never stall, whatever scraped metrics said when the last answer ended']],
  B22: [request('B22: a body goes on byte for byte but for its model, on every path, and stream options are merged')],
  B23: [['admission/limits.test.ts', 'B23: usage that is told in every chunk is charged once']],
  B24: [
    scheduling('B24: kvcache-aware takes part as soon as a Redis that was down at the start is there'),
    ['kvcache-aware.test.ts', 'waits no longer than it may when %s hangs, and serves the request'],
  ],
  B25: [request('B25: connections to engines are used again under concurrency, and a proxy of the environment is not')],
  B26: [['admission/authenticate.test.ts', 'B26: the issuer’s keys']],
  B27: [['admission/authenticate.test.ts', 'B27: credentials']],
  B28: GATEWAY,
  B29: [object('B15: a pod whose metrics hang makes nobody else’s old, and B29: the router is alive while it waits for them')],
  B30: GATEWAY,
  B31: [object('B31: what is wrong with an object is told with its field and what to do, though no status of it is written')],
  B32: GATEWAY,
  B33: [
    request('B33: the access log names the pod that served, after another one failed, and no error of a request that was served'),
  ],
  B34: [
    [
      'disaggregation/protocols.test.ts',
      'B34: leaves nothing in the prefill leg that one token of one choice cannot have, and changes no sampling',
    ],
  ],
  B35: [object('B35: of changes that come fast the last one counts')],
  B36: [object('B36: nothing is remembered of the pods of a ModelServer that was deleted')],
  B37: [
    scheduling('B37: a plugin that is disabled is off, and a weight that is left out is told'),
    scheduling('B37: a negative maxWaitingRequests does not refuse everything'),
    ['hot-reload.test.ts', 'is read when a ConfigMap’s link is turned to a new folder'],
  ],
  B38: [request('B38: made-up paths make no series of their own')],
  B39: { none: 'a fault of its documents and chart, not of the router' },
  B40: [
    request(
      'B40: prompts of every form and paths of every kind are served, and texts are estimated by more than their characters',
    ),
  ],
  B41: [
    ['admission/queue/request-queue.test.ts', 'B41: hear that their model is gone when its route is deleted while they wait'],
    ['admission/queue/request-queue.test.ts', 'B41: stay when another route still serves their model'],
  ],
  B42: [
    object('B42: objects that say nothing of what is needed stop nobody else’s requests'),
    request('B42: heads and bodies that come slowly or are too large are ended, and others are served meanwhile'),
  ],
  B43: { none: 'a race between threads, and the state of this router belongs to one' },
};
