import { keyOf } from '../../../src/api/meta';
import type { ModelRoute } from '../../../src/api/model-route';
import type { ModelServer } from '../../../src/api/model-server';
import type { RouterConfig } from '../../../src/config/router-config';
import { parseDurationMs } from '../../../src/duration';
import type { Random } from '../../lib/random';
import { RouterError, type RouterErrorCode } from '../errors';
import type { Destination } from '../observability/request-trace';
import type { RetryRules } from '../relay/retry-policy';
import type { MatchedRequest, ReadRequest } from '../request';
import type { RouteTable, UnmatchedReason } from '../routing/route-table';

const REFUSALS: Readonly<Record<UnmatchedReason, RouterErrorCode>> = {
  'unknown-model': 'model_not_found',
  'no-rule': 'route_not_found',
  'gateway-only': 'route_not_found',
  'no-weight': 'backend_not_found',
  'missing-model-server': 'backend_not_found',
  'missing-provider': 'backend_not_found',
};

/** What all requests to one ModelServer share. */
interface ServerPolicy {
  readonly key: string;
  readonly retry: RetryRules;
  readonly firstByteMs: number;
  /** By route and upstream model, so that metrics find their series by identity. */
  readonly destinations: WeakMap<ModelRoute, Map<string, Destination>>;
}

/** Destinations remembered per ModelServer and route: adapters may have many names. */
const MAX_DESTINATIONS = 1_000;

/** Finds where requests go, with the policies of their ModelServer. */
export class RequestMatcher {
  private readonly statuses: ReadonlySet<number>;
  private readonly policies = new WeakMap<ModelServer, ServerPolicy>();

  constructor(
    private readonly routes: RouteTable,
    private readonly random: Random,
    private readonly config: Pick<RouterConfig, 'retry' | 'deadlines'>,
  ) {
    this.statuses = new Set(config.retry.statuses);
  }

  /** @throws RouterError `model_not_found`, `route_not_found`, `backend_not_found`, `external_target`. */
  match({ head, parsed }: ReadRequest): MatchedRequest {
    const match = this.routes.match({
      path: head.path,
      method: head.api.method,
      headers: head.headers,
      model: parsed.model,
      random: this.random,
    });
    if (match.kind === 'unmatched') throw new RouterError(REFUSALS[match.reason], match.message, 'model');
    if (match.target.kind === 'provider') {
      throw new RouterError('external_target', `the model is served by ExternalModelProvider ${keyOf(match.target.provider)}`);
    }
    const { modelServer } = match.target;
    const { key, retry, firstByteMs, destinations } = this.policyOf(modelServer);
    const upstreamModel = match.isAdapter ? parsed.model : modelServer.spec.model || parsed.model;
    let byModel = destinations.get(match.route);
    if (byModel === undefined) {
      byModel = new Map();
      destinations.set(match.route, byModel);
    }
    let destination = byModel.get(upstreamModel);
    if (destination === undefined) {
      destination = { modelRoute: keyOf(match.route), backendType: 'model_server', backendName: key, upstreamModel };
      if (byModel.size >= MAX_DESTINATIONS) byModel.clear();
      byModel.set(upstreamModel, destination);
    }
    return {
      modelServer,
      modelServerKey: key,
      destination,
      isAdapter: match.isAdapter,
      upstreamModel,
      protocol: modelServer.spec.workloadPort.protocol,
      retry,
      firstByteMs,
    };
  }

  private policyOf(server: ModelServer): ServerPolicy {
    const known = this.policies.get(server);
    if (known !== undefined) return known;
    const { timeout, retry } = server.spec.trafficPolicy ?? {};
    const policy: ServerPolicy = {
      key: keyOf(server),
      destinations: new WeakMap(),
      retry: {
        attempts: retry?.attempts ?? this.config.retry.attempts,
        intervalMs:
          (retry?.retryInterval === undefined ? undefined : parseDurationMs(retry.retryInterval)) ?? this.config.retry.intervalMs,
        statuses: this.statuses,
      },
      firstByteMs: (timeout === undefined ? undefined : parseDurationMs(timeout)) ?? this.config.deadlines.firstByteMs,
    };
    this.policies.set(server, policy);
    return policy;
  }
}
