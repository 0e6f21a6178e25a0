import type { DestinationStream } from 'pino';
import type { DecodedRouterConfig, RouterConfig } from '../../src/config/router-config';
import { findingLine } from '../../src/errors';
import type { RouterCluster } from '../cluster/cluster';
import { type ClusterSnapshot, ROUTER_KINDS, takeSnapshot } from '../cluster/cluster-snapshot';
import { type Clock, sleep } from '../lib/clock';
import { type ListenAddress, listen } from '../lib/http-listen';
import { closeServer } from '../lib/http-server';
import type { Logger } from '../lib/logger';
import { startMetricsServer } from '../lib/metrics-server';
import type { Random } from '../lib/random';
import { Redis } from '../lib/redis';
import { wallClock } from '../lib/wall-clock';
import { Admission } from './admission/admission';
import type { Identity } from './admission/identity';
import { Limits } from './admission/limits/limits';
import { LiveAuthentication } from './admission/live-authentication';
import { requireModel } from './admission/model-permission';
import { RequestQueue } from './admission/queue/request-queue';
import { Sleepers } from './admission/queue/sleepers';
import { KvBlockOwners } from './cache/kv-block-owners';
import { openReplication } from './cache/replication/open-replication';
import { ConfigReload } from './config-reload';
import { HandOffs } from './disaggregation/hand-offs';
import { OnFlightCounters } from './endpoints/on-flight-counters';
import { Guardrails } from './guardrail/guardrails';
import { RouterTls } from './listener/router-tls';
import { TlsServer } from './listener/tls-server';
import { LiveConfig } from './live-config';
import { type AccessRecord, accessRecord } from './observability/access-record';
import { ConfigMetrics } from './observability/config-metrics';
import { startDebugServer } from './observability/debug-server';
import { DecisionRing } from './observability/decision-ring';
import { Decisions } from './observability/decisions';
import { GuardrailMetrics } from './observability/guardrail-metrics';
import { KvBlockMetrics } from './observability/kv-block-metrics';
import { LimitMetrics } from './observability/limit-metrics';
import { closeReplaced, openOutputs } from './observability/outputs';
import { QueueMetrics } from './observability/queue-metrics';
import { RouterMetrics } from './observability/router-metrics';
import { SchedulingMetrics } from './observability/scheduling-metrics';
import { SessionMetrics } from './observability/session-metrics';
import { ShadowMetrics } from './observability/shadow-metrics';
import { SpanMetrics } from './observability/span-metrics';
import { TlsMetrics } from './observability/tls-metrics';
import { createPipeline } from './pipeline';
import { ProviderAttempts } from './providers/provider-attempts';
import { AttemptSource, type AttemptSourceDependencies } from './relay/attempt-source';
import { DeadlineWheel } from './relay/deadline-wheel';
import { EndpointClients } from './relay/endpoint-clients';
import { Quarantine } from './relay/quarantine';
import { Relay } from './relay/relay';
import { RetryBudget } from './relay/retry-budget';
import { ShadowTraffic } from './relay/shadow-traffic';
import type { MatchedRequest, ReadRequest } from './request';
import { type ApiPath, ApiPaths } from './request/api-paths';
import { BodyBudget } from './request/body-budget';
import { Cors } from './request/cors';
import { isolationFindings } from './request/isolation-findings';
import { answerModels } from './request/list-models';
import { RequestMatcher } from './request/match-request';
import { readHead } from './request/read-head';
import { RequestReader } from './request/read-request';
import { refuse } from './request/refuse';
import { TrustedProxies } from './request/trusted-proxies';
import { ResponseOwners } from './responses/response-owners';
import { StatefulResponses } from './responses/stateful-responses';
import { Sessions } from './routing/sessions';
import { createScheduling, type Endpoints } from './scheduling/scheduling';
import { createRouterServer, type ListenerTls } from './server';

export interface RouterOptions {
  readonly cluster: RouterCluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: RouterConfig;
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly debugListen: ListenAddress;
  readonly log: Logger;
  /** Called once for each request that is over, sampled or not. */
  readonly onRequest?: (record: AccessRecord) => void;
  /** Replaces the output that `config.usage` names. */
  readonly usageDestination?: DestinationStream;
  /** Replaces the output that `config.accessLog` names. */
  readonly accessLogDestination?: DestinationStream;
  /** Replaces the output that `config.decisionLog` names. */
  readonly decisionLogDestination?: DestinationStream;
  /** What the debug port tells of the cluster. @default what a router may see of it */
  readonly snapshot?: () => Promise<ClusterSnapshot>;
  /** Adds Node's own metrics to the metrics port. @default false */
  readonly processMetrics?: boolean;
}

/** What must be zero when no request is under way. */
export interface RouterLoad {
  readonly permits: number;
  readonly bodyBytes: number;
  readonly exchanges: number;
  readonly activeRequests: number;
  /** Places, turns and permits of the queue. */
  readonly queued: number;
  /** Reservations of limits that are not settled. */
  readonly reservedLimits: number;
}

export interface RunningRouter {
  readonly address: ListenAddress;
  readonly metricsAddress: ListenAddress;
  readonly debugAddress: ListenAddress;
  readonly endpoints: Endpoints;
  /** As it is now. */
  readonly config: RouterConfig;
  load(): RouterLoad;
  /** Requests that wait for room in a pod. */
  waiting(): number;
  /** After the first sync and scrape. */
  isReady(): boolean;
  whenReady(): Promise<void>;
  /**
   * Leaves in peace: readiness is withdrawn at once, new requests are still served for `config.drain.announceMs`, streams may run to
   * their end until `deadlineMs`, then the rest is cut with an error event. In milliseconds of the router's clock.
   */
  drain(deadlineMs: number): Promise<void>;
  /**
   * Takes over what a new configuration changes and no restart is needed for; log and metrics tell what became of it. A bad one changes
   * nothing.
   */
  reconfigure(decoded: DecodedRouterConfig): Promise<void>;
  /** Ends everything now. */
  close(): Promise<void>;
}

/** How long cut connections may take to close, in real milliseconds. */
const CLOSE_GRACE_MS = 1_000;
/** Between looks at whether the last request is over. */
const DRAIN_POLL_MS = 50;

/**
 * Starts the data plane.
 *
 * @throws KvasirError when an address cannot be had, the access log cannot be opened, or the configuration asks for what is not served.
 */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  const { cluster, clock, random, log } = options;
  const live = new LiveConfig(options.config);
  const config = live.view;
  const connectTimeoutMs = Math.max(config.deadlines.connectMs, 1_000);
  const providers = new ProviderAttempts({ cluster, clock, config, connectTimeoutMs, caFile: config.providers.caFile });
  const metrics = new RouterMetrics();
  const outputOptions = { ...options, spanMetrics: new SpanMetrics(metrics.metrics) };
  const tlsMetrics = new TlsMetrics(metrics.metrics);
  const tls = await RouterTls.open({ listener: config.tls, engines: config.engineTls, metrics: tlsMetrics, log });
  let outputs = await openOutputs(live.value, outputOptions);
  const { inflightPerPod, enabled: boostsSessions } = config.queue.sessionBoost;
  const maxSequencesPerPod = boostsSessions ? inflightPerPod : undefined;
  // Its server is as fast as the wall clock, whatever the router's own does.
  const redis = new Redis({ config: config.redis, clock: wallClock(), metrics: metrics.metrics, log });
  const { own: ownRedis } = redis;
  const counters =
    config.onFlightCounters && ownRedis !== undefined ? new OnFlightCounters({ redis: ownRedis, clock: wallClock() }) : undefined;
  const replication = await openReplication({ config, redis, clock: wallClock(), metrics: metrics.metrics, log });
  const sessions = new Sessions(clock, new SessionMetrics(metrics.metrics), config.sessions);
  const owners = new ResponseOwners(clock, config.responses);
  const scheduling = await createScheduling({
    cluster,
    clock,
    random,
    config,
    maxSequencesPerPod,
    replication,
    places: [sessions, owners],
    counters,
    metrics: new SchedulingMetrics(metrics.metrics, () => performance.now()),
    engineTls: () => tls.engines,
  });
  if (options.processMetrics === true) metrics.metrics.withProcessMetrics();
  const authentication = new LiveAuthentication({
    auth: config.auth,
    secrets: cluster.secrets,
    clock,
    metrics: metrics.metrics,
    log,
  });
  const limits = new Limits({
    objects: cluster.objects,
    clock,
    config,
    redis,
    metrics: new LimitMetrics(metrics.metrics),
    log,
  });
  const isReady = (): boolean => scheduling.isReady() && authentication.isReady();
  const findings = () => [
    ...scheduling.findings(),
    ...authentication.findings(),
    ...providers.findings(),
    ...limits.findings(),
    ...isolationFindings(cluster.objects.list('ModelRoute'), config.auth),
  ];
  const wheel = new DeadlineWheel(clock);
  const clients = new EndpointClients(connectTimeoutMs, {
    get tls() {
      return tls.engines;
    },
  });
  const stopFollowing = scheduling.endpoints.removed(({ id }) => {
    void clients.remove(id);
    handOffs.forget(id);
  });
  const bodyBudget = new BodyBudget(config.limits.bodyBudgetBytes);
  const admission = new Admission(() => scheduling.isReady(), config.limits.requestsInFlight);
  const ring = new DecisionRing(config.explain.ringSize);
  const decisions = new Decisions(ring, random, () => outputs.decisionLog);
  let edge = edgeOf(live.value);
  const reader = new RequestReader(config, bodyBudget, wheel);
  const matcher = new RequestMatcher(scheduling.routes, random, config, sessions, providers.choice);
  const responses = new StatefulResponses(owners, matcher, scheduling.endpoints, clients);
  const handOffs = new HandOffs({
    clients,
    wheel,
    clock,
    config,
    pairs: scheduling.pairs,
    attempts: scheduling.attempts,
    metrics,
    registry: metrics.metrics,
  });
  const openKvOwners = (): KvBlockOwners | undefined =>
    !scheduling.asksForBlocks
      ? undefined
      : new KvBlockOwners({
          clock,
          random,
          objects: cluster.objects,
          endpointsOf: (key) => scheduling.endpoints.ofModelServer(key),
          settingsOf: (route) => scheduling.profileOf(route).kvBlocks,
          redis: redis.own,
          metrics: new KvBlockMetrics(metrics.metrics),
          engineTls: () => tls.engines,
        });
  let kvOwners = openKvOwners();
  const sources: AttemptSourceDependencies = {
    attempts: scheduling.attempts,
    handOffs,
    providers,
    metrics,
    sessions,
    ownedBlocks: (request) => kvOwners?.of(request),
    fallback: (matched, request) => matcher.fallback(matched, request) ?? queue.overflow(matched, request),
    responses,
  };
  const retryBudget = new RetryBudget(config.retry.budgetRatio);
  const quarantine = new Quarantine(clock, config.retry.quarantineMs);
  const guardrails = new Guardrails({ config, metrics: new GuardrailMetrics(metrics.metrics), log });
  const relay = new Relay({
    clients,
    wheel,
    clock,
    random,
    config,
    budget: retryBudget,
    quarantine,
    decisions,
    guard: (incoming, request, onRefused) => guardrails.after(incoming, request, onRefused),
  });
  const shadows = new ShadowTraffic({
    clients,
    wheel,
    config,
    random,
    budget: bodyBudget,
    metrics: new ShadowMetrics(metrics.metrics),
    sources,
    shadowOf: (matched, request) => matcher.shadowOf(matched, request),
    onUnforeseen: (error) => log.error({ err: error }, 'a copy of a request failed unforeseen'),
  });
  const match = (request: ReadRequest, identity: Identity): MatchedRequest => {
    if (namesResponse(request.head.api)) return responses.match(request, identity);
    requireModel(identity, request.parsed.model);
    return matcher.match(request, identity);
  };
  const queue = new RequestQueue({
    config: config.queue,
    get totalMs() {
      return config.deadlines.totalMs;
    },
    clock,
    wheel,
    rooms: scheduling.rooms,
    metrics: new QueueMetrics(metrics.metrics, config.queue),
    sleepers:
      cluster.wake === undefined || !config.queue.wake.enabled
        ? undefined
        : new Sleepers({ wake: cluster.wake, objects: cluster.objects, clock, log }),
    source: (request, matched, reservations) => new AttemptSource(sources, request, matched, reservations),
    redraw: (matched, request, mayTake) => matcher.redraw(matched, request, mayTake),
    overflow: (matched, request) => matcher.overflow(matched, request),
    overflowSeconds: (matched, request) => matcher.overflowSeconds(matched, request),
    isCurrent: (matched) => matcher.isCurrent(matched),
    // A session that was given a cookie stays the one that the cookie names.
    rematch: (request, identity, { session }) => ({ ...match(request, identity), session }),
  });
  for (const finding of findings()) log.warn({ code: finding.code }, findingLine(finding));

  const serve = createPipeline({
    begin: (reservations) => {
      metrics.activeRequests.add(1);
      reservations.take<void>(() => metrics.activeRequests.add(-1), undefined);
    },
    head: (incoming) => {
      const { trace, message } = incoming;
      const { paths, trusted } = edge;
      const spans = outputs.tracing?.begin(trace, message.headers.traceparent);
      trace.spans = spans;
      const head = readHead(incoming, paths, config.auth?.apiKeys?.header);
      if (trusted === undefined && spans === undefined) return head;
      const rawHeaders = spans === undefined ? head.rawHeaders : spans.headers(head.rawHeaders);
      return { ...head, rawHeaders, forwarded: trusted?.forwarded(message.socket, head.headers) };
    },
    authenticate: authentication.authenticate,
    answerHere: (incoming, head, identity) => {
      if (head.api.use !== 'models') return false;
      answerModels(incoming, head, scheduling.routes, identity);
      return true;
    },
    read: (incoming, head, reservations) => {
      const read = reader.read(incoming, head, reservations);
      return namesResponse(head.api) ? responses.heard(read) : read;
    },
    match,
    admit: (incoming, request, matched, identity, reservations) => {
      const { trace } = incoming;
      trace.destination = matched.destination;
      trace.identity = identity;
      if (matched.stateful !== undefined) trace.model = matched.stateful.model;
      if (matched.session?.cookie !== undefined) incoming.answer.addHeader('set-cookie', matched.session.cookie);
      admission.admit(reservations);
      const gauge = metrics.downstreamOf(trace.model);
      gauge.add(1);
      reservations.take<void>(() => gauge.add(-1), undefined);
      const limited = limits.reserve({ incoming, request, matched, identity, reservations });
      if (kvOwners === undefined) return limited;
      return limited instanceof Promise
        ? limited.then(() => kvOwners?.prepare(request, matched))
        : kvOwners.prepare(request, matched);
    },
    guard: (incoming, request, identity) => guardrails.before(incoming, request, identity),
    choose: (incoming, request, matched, identity, reservations) =>
      queue.enter({ incoming, request, matched, identity, reservations }),
    relay: (incoming, request, matched, attempts) => {
      const relayed = relay.relay(incoming, request, matched, attempts);
      return matched.rule.shadow === undefined ? relayed : shadows.beside(relayed, request, matched);
    },
    refuse,
    observe: ({ trace, message }) => {
      trace.endMs = clock.monotonic();
      // A model that no route names is a client's word, and would make a series of its own for each typing error.
      metrics.finished(trace, trace.destination === undefined ? 'unknown' : trace.model);
      trace.spans?.end();
      const { usageLog, accessLog } = outputs;
      usageLog?.write(trace);
      const logs = accessLog?.wants(trace.status) === true;
      if (!logs && options.onRequest === undefined) return;
      const record = accessRecord(trace, message.url);
      if (logs) accessLog?.write(record);
      options.onRequest?.(record);
    },
    reportUnforeseen: (error, { trace }) => log.error({ err: error, requestId: trace.requestId }, 'a request failed unforeseen'),
  });

  let isDraining = false;
  const { requestHeadMs } = config.deadlines;
  const server = await createRouterServer({
    clock,
    serve,
    isReady,
    isDraining: () => isDraining,
    requestHeadMs,
    get unreadMs() {
      return config.deadlines.idleMs;
    },
    get cors() {
      return edge.cors;
    },
    tls: listenerTls(tls, config.tls, tlsMetrics),
  });
  tls.follow(
    (certificate) => {
      if (server instanceof TlsServer) server.setSecureContext(certificate);
    },
    () => clients.renew(),
  );
  const reload = new ConfigReload({
    live,
    clock,
    log,
    metrics: new ConfigMetrics(metrics.metrics),
    prepare: async (next) => {
      const before = live.value;
      const nextEdge = edgeOf(next);
      const nextOutputs = await openOutputs(next, outputOptions, { config: before, outputs });
      return () => {
        const replaced = outputs;
        edge = nextEdge;
        outputs = nextOutputs;
        void closeReplaced(replaced, nextOutputs);
        bodyBudget.limitBytes = next.limits.bodyBudgetBytes;
        admission.maxInFlight = next.limits.requestsInFlight;
        retryBudget.ratio = next.retry.budgetRatio;
        quarantine.durationMs = next.retry.quarantineMs;
        ring.resize(next.explain.ringSize);
        reader.configChanged();
        matcher.configChanged();
        limits.configChanged();
        scheduling.configure(next);
        kvOwners ??= openKvOwners();
        if (next.auth !== before.auth) authentication.configure(next.auth);
        for (const finding of scheduling.findings()) log.warn({ code: finding.code }, findingLine(finding));
      };
    },
  });
  const close = async (): Promise<void> => {
    stopFollowing();
    authentication.close();
    tls.close();
    await queue.cutAll();
    await relay.cutAll();
    shadows.cutAll();
    await Promise.all([closeServer(server, CLOSE_GRACE_MS), ...opened.map((each) => each.close())]);
    await Promise.all([
      scheduling.close(),
      clients.close(),
      providers.close(),
      limits.close(),
      kvOwners?.close(),
      guardrails.close(),
    ]);
    redis.close();
    handOffs.close();
    wheel.close();
    await closeReplaced(outputs);
  };
  const opened: { close(): Promise<void> }[] = [];
  try {
    const load = (): RouterLoad => ({
      permits: admission.permits,
      bodyBytes: bodyBudget.usedBytes,
      exchanges: relay.exchanges + shadows.exchanges,
      activeRequests: metrics.activeRequests.value,
      queued: queue.held,
      reservedLimits: limits.reserved,
    });
    const metricsServer = await startMetricsServer(metrics.metrics, options.metricsListen, () => isReady() && !isDraining);
    opened.push(metricsServer);
    const debugServer = await startDebugServer({
      objects: cluster.objects,
      endpoints: scheduling.endpoints,
      ring,
      findings,
      config: () => reload.state(),
      limits: () => limits.status(),
      load: () => load(),
      queue: () => queue.status(),
      snapshot:
        options.snapshot ?? (() => takeSnapshot({ objects: cluster.objects, wake: cluster.wake }, clock.now(), ROUTER_KINDS)),
      address: options.debugListen,
    });
    opened.push(debugServer);
    const address = await listen(server, options.listen, '--listen');
    return {
      address,
      metricsAddress: metricsServer.address,
      debugAddress: debugServer.address,
      endpoints: scheduling.endpoints,
      config,
      load,
      waiting: () => queue.waiting,
      isReady: () => isReady() && !isDraining,
      whenReady: () => scheduling.whenReady(),
      drain: async (deadlineMs) => {
        isDraining = true;
        scheduling.leaving();
        metrics.draining.set(1);
        const until = clock.monotonic() + deadlineMs;
        server.closeIdleConnections();
        await sleep(clock, Math.min(config.drain.announceMs, deadlineMs));
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        while (metrics.activeRequests.value > 0 && clock.monotonic() < until) await sleep(clock, DRAIN_POLL_MS);
        await queue.cutAll();
        await relay.cutAll();
        setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
        server.closeIdleConnections();
        await closed;
        await close();
      },
      reconfigure: (decoded) => reload.take(decoded),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether a request to this path may name a response that an endpoint keeps. */
function namesResponse({ keepsResponses, use }: ApiPath): boolean {
  return keepsResponses || use === 'response';
}

/** How the inference port is made; undefined for a plain one. */
function listenerTls(
  { listener: certificate }: RouterTls,
  config: RouterConfig['tls'],
  metrics: TlsMetrics,
): ListenerTls | undefined {
  if (config === undefined || certificate === undefined) return undefined;
  return {
    options: { ...certificate, ...(config.clientCaFile === undefined ? {} : { requestCert: true, rejectUnauthorized: true }) },
    http2: config.http2,
    onHandshakeFailed: () => metrics.handshakeFailed(),
    onFlood: () => metrics.flooded(),
  };
}

/** What is made of the configuration for the edge of the router: which paths there are, and whose word counts. */
function edgeOf({ paths: extra, trustedProxies, cors }: RouterConfig) {
  const paths = new ApiPaths(extra);
  return {
    paths,
    trusted: trustedProxies.length === 0 ? undefined : new TrustedProxies(trustedProxies),
    cors: cors === undefined ? undefined : new Cors(cors, paths),
  };
}
