import type { DestinationStream } from 'pino';
import type { RouterConfig } from '../../src/config/router-config';
import { findingLine } from '../../src/errors';
import type { RouterCluster } from '../cluster/cluster';
import { type Clock, sleep } from '../lib/clock';
import { type ListenAddress, listen } from '../lib/http-listen';
import { closeServer } from '../lib/http-server';
import type { Logger } from '../lib/logger';
import { startMetricsServer } from '../lib/metrics-server';
import type { Random } from '../lib/random';
import { Admission } from './admission/admission';
import { createAuthenticate } from './admission/authenticate';
import { openAccessLog } from './observability/access-log';
import { type AccessRecord, accessRecord } from './observability/access-record';
import { startDebugServer } from './observability/debug-server';
import { DecisionRing } from './observability/decision-ring';
import { RouterMetrics } from './observability/router-metrics';
import { createPipeline } from './pipeline';
import { AttemptSource, schedulingRequest } from './relay/attempt-source';
import { DeadlineWheel } from './relay/deadline-wheel';
import { EndpointClients } from './relay/endpoint-clients';
import { Quarantine } from './relay/quarantine';
import { Relay } from './relay/relay';
import { RetryBudget } from './relay/retry-budget';
import { ApiPaths } from './request/api-paths';
import { BodyBudget } from './request/body-budget';
import { answerModels } from './request/list-models';
import { RequestMatcher } from './request/match-request';
import { readHead } from './request/read-head';
import { RequestReader } from './request/read-request';
import { refuse } from './request/refuse';
import { createScheduling, type Endpoints } from './scheduling/scheduling';
import { createRouterServer } from './server';

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
  /** Replaces the output that `config.accessLog` names. */
  readonly accessLogDestination?: DestinationStream;
  /** Adds Node's own metrics to the metrics port. @default false */
  readonly processMetrics?: boolean;
}

/** What must be zero when no request is under way. */
export interface RouterLoad {
  readonly permits: number;
  readonly bodyBytes: number;
  readonly exchanges: number;
  readonly activeRequests: number;
}

export interface RunningRouter {
  readonly address: ListenAddress;
  readonly metricsAddress: ListenAddress;
  readonly debugAddress: ListenAddress;
  readonly endpoints: Endpoints;
  load(): RouterLoad;
  /** After the first sync and scrape. */
  isReady(): boolean;
  whenReady(): Promise<void>;
  /**
   * Leaves in peace: readiness is withdrawn at once, new requests are still served for `config.drain.announceMs`, streams may run to
   * their end until `deadlineMs`, then the rest is cut with an error event. In milliseconds of the router's clock.
   */
  drain(deadlineMs: number): Promise<void>;
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
  const { cluster, clock, random, config, log } = options;
  const authenticate = createAuthenticate(config.auth);
  const accessLog = openAccessLog(config.accessLog, random, options.accessLogDestination);
  const scheduling = await createScheduling({ cluster, clock, random, config });
  const metrics = new RouterMetrics();
  if (options.processMetrics === true) metrics.metrics.withProcessMetrics();
  const wheel = new DeadlineWheel(clock);
  const clients = new EndpointClients(Math.max(config.deadlines.connectMs, 1_000));
  const stopFollowing = scheduling.endpoints.removed(({ id }) => void clients.remove(id));
  const bodyBudget = new BodyBudget(config.limits.bodyBudgetBytes);
  const admission = new Admission(() => scheduling.isReady(), config.limits.requestsInFlight);
  const ring = new DecisionRing(config.explain.ringSize);
  const paths = new ApiPaths(config.paths);
  const reader = new RequestReader(config, bodyBudget, wheel);
  const matcher = new RequestMatcher(scheduling.routes, random, config);
  const relay = new Relay({
    clients,
    wheel,
    clock,
    random,
    config,
    budget: new RetryBudget(config.retry.budgetRatio),
    quarantine: new Quarantine(clock, config.retry.quarantineMs),
    ring,
  });
  for (const finding of scheduling.findings()) log.warn({ code: finding.code }, findingLine(finding));

  const serve = createPipeline({
    begin: (reservations) => {
      metrics.activeRequests.add(1);
      reservations.take<void>(() => metrics.activeRequests.add(-1), undefined);
    },
    head: (incoming) => readHead(incoming, paths),
    authenticate,
    answerHere: (incoming, head) => {
      if (head.api.use !== 'models') return false;
      answerModels(incoming, head, scheduling.routes);
      return true;
    },
    read: (incoming, head, reservations) => reader.read(incoming, head, reservations),
    match: (request) => matcher.match(request),
    admit: ({ trace }, matched, reservations) => {
      trace.destination = matched.destination;
      admission.admit(reservations);
      const gauge = metrics.downstreamOf(trace.model);
      gauge.add(1);
      reservations.take<void>(() => gauge.add(-1), undefined);
    },
    choose: (request, matched, reservations) =>
      new AttemptSource(scheduling.attempts, schedulingRequest(request, matched), matched, reservations, metrics),
    relay: (incoming, request, matched, attempts) => relay.relay(incoming, request, matched, attempts),
    refuse,
    observe: ({ trace }) => {
      trace.endMs = clock.monotonic();
      // A model that no route names is a client's word, and would make a series of its own for each typing error.
      metrics.finished(trace, trace.destination === undefined ? 'unknown' : trace.model);
      const logs = accessLog?.wants(trace.status) === true;
      if (!logs && options.onRequest === undefined) return;
      const record = accessRecord(trace);
      if (logs) accessLog?.write(record);
      options.onRequest?.(record);
    },
    reportUnforeseen: (error, { trace }) => log.error({ err: error, requestId: trace.requestId }, 'a request failed unforeseen'),
  });

  let isDraining = false;
  const server = await createRouterServer({ clock, serve, isReady: () => scheduling.isReady(), isDraining: () => isDraining });
  const close = async (): Promise<void> => {
    stopFollowing();
    relay.cutAll();
    await Promise.all([closeServer(server, CLOSE_GRACE_MS), ...opened.map((each) => each.close())]);
    await Promise.all([scheduling.close(), clients.close()]);
    wheel.close();
    accessLog?.close();
  };
  const opened: { close(): Promise<void> }[] = [];
  try {
    const metricsServer = await startMetricsServer(metrics.metrics, options.metricsListen);
    opened.push(metricsServer);
    const debugServer = await startDebugServer({
      objects: cluster.objects,
      endpoints: scheduling.endpoints,
      ring,
      findings: () => scheduling.findings(),
      address: options.debugListen,
    });
    opened.push(debugServer);
    const address = await listen(server, options.listen, '--listen');
    const load = (): RouterLoad => ({
      permits: admission.permits,
      bodyBytes: bodyBudget.usedBytes,
      exchanges: relay.exchanges,
      activeRequests: metrics.activeRequests.value,
    });
    return {
      address,
      metricsAddress: metricsServer.address,
      debugAddress: debugServer.address,
      endpoints: scheduling.endpoints,
      load,
      isReady: () => scheduling.isReady() && !isDraining,
      whenReady: () => scheduling.whenReady(),
      drain: async (deadlineMs) => {
        isDraining = true;
        metrics.draining.set(1);
        const until = clock.monotonic() + deadlineMs;
        server.closeIdleConnections();
        await sleep(clock, Math.min(config.drain.announceMs, deadlineMs));
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        while (metrics.activeRequests.value > 0 && clock.monotonic() < until) await sleep(clock, DRAIN_POLL_MS);
        relay.cutAll();
        setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
        server.closeIdleConnections();
        await closed;
        await close();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
