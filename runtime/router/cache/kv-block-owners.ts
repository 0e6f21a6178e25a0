import { type Agent, request as httpRequest } from 'undici';
import type { Pod } from '../../../src/api/pod';
import type { Objects } from '../../cluster/objects';
import type { Clock } from '../../lib/clock';
import type { Random } from '../../lib/random';
import type { RedisConnection } from '../../lib/redis-connection';
import type { Endpoint } from '../endpoints/endpoint';
import { engineAgent, engineOrigin } from '../endpoints/engine-agent';
import type { EngineTls } from '../listener/router-tls';
import type { KvBlockMetrics, KvBlockStage } from '../observability/kv-block-metrics';
import type { MatchedRequest, ReadRequest } from '../request';
import type { KvBlockSettings } from './kv-block-settings';
import type { OwnedBlocks } from './owned-blocks';
import { ownedRuns, tokenBlockHashes } from './token-blocks';
import { isTokens, tokenizeRequest } from './tokenize-request';

export interface KvBlockOwnersOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly objects: Objects;
  /** Endpoints of a ModelServer by `namespace/name`. */
  readonly endpointsOf: (modelServer: string) => readonly Endpoint[] | undefined;
  /** Settings of the profile that decides for a route, where it asks for owners. @param route `namespace/name`. */
  readonly settingsOf: (route: string) => KvBlockSettings | undefined;
  /** Where sidecars tell who holds what; undefined where there is none. */
  readonly redis: RedisConnection | undefined;
  readonly metrics: KvBlockMetrics;
  /** Of https engines, read for each connection. */
  readonly engineTls: () => EngineTls;
}

/** Prompts that are looked up at one time: beyond, Redis or the engines do not keep up, and waiting would make it worse. */
const MAX_LOOKUPS = 256;
/** Kthena's prefix of the hashes whose fields are owners, `pod.namespace`, and whose values are when they wrote them, in seconds. */
const KEY_PREFIX = 'matrix:kv:block:';

/**
 * Asks Redis which endpoints hold the blocks of a prompt, in Kthena's layout. The one look-up that a request waits for, and only where
 * its profile asks for it: never longer than its bound, and what was not known by then takes no part in the decision.
 */
export class KvBlockOwners {
  private readonly agent: Agent;
  private readonly found = new WeakMap<ReadRequest, OwnedBlocks>();
  private underWay = 0;

  constructor(private readonly options: KvBlockOwnersOptions) {
    const limits = { connections: 8, pipelining: 1, keepAliveTimeout: 4_000, keepAliveMaxTimeout: 4_000 };
    this.agent = engineAgent(limits, options.engineTls);
    options.redis?.open();
  }

  /** What was found for a request; undefined where nothing was. */
  of(request: ReadRequest): OwnedBlocks | undefined {
    return this.found.get(request);
  }

  /**
   * Looks a request's prompt up where its profile asks for it.
   *
   * @returns undefined where nothing is to be waited for; else settles within the bound, and never rejects.
   */
  prepare(request: ReadRequest, matched: MatchedRequest): Promise<void> | undefined {
    const { redis, settingsOf, endpointsOf } = this.options;
    if (matched.kind === 'provider') return undefined;
    const settings = settingsOf(matched.destination.modelRoute);
    // What sidecars write tells neither adapters nor salts apart.
    if (settings === undefined || matched.isAdapter || matched.cacheSalt !== undefined) return undefined;
    const endpoints = endpointsOf(matched.modelServerKey) ?? [];
    if (redis?.isUp !== true || endpoints.length < 2 || this.underWay >= MAX_LOOKUPS) return undefined;
    this.underWay += 1;
    return this.inTime(request, matched.upstreamModel, settings, endpoints, redis).finally(() => {
      this.underWay -= 1;
    });
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private inTime(
    request: ReadRequest,
    model: string,
    settings: KvBlockSettings,
    endpoints: readonly Endpoint[],
    redis: RedisConnection,
  ): Promise<void> {
    const { clock, metrics } = this.options;
    const controller = new AbortController();
    const lookup = { model, settings, endpoints, redis, signal: controller.signal, stage: 'tokenize' as KvBlockStage };
    return new Promise((resolve) => {
      const fail = (): void => {
        if (controller.signal.aborted) return;
        controller.abort();
        deadline.cancel();
        metrics.failed(lookup.stage, model);
        resolve();
      };
      const deadline = clock.after(settings.timeoutMs, fail);
      this.look(request, lookup).then((owned) => {
        if (controller.signal.aborted) return;
        deadline.cancel();
        if (owned !== undefined) {
          this.found.set(request, owned);
          metrics.matched(model, Math.max(0, ...owned.runs.values()) / owned.total);
        }
        resolve();
      }, fail);
    });
  }

  private async look(request: ReadRequest, lookup: Lookup): Promise<OwnedBlocks | undefined> {
    const { settings, model, endpoints, redis } = lookup;
    const tokens = await this.timed(lookup, 'tokenize', () => this.tokens(request, lookup));
    if (tokens === undefined) return undefined;
    const hashes = tokenBlockHashes(tokens, settings.tokensPerBlock, settings.maxBlocks);
    const replies = await this.timed(lookup, 'redis', () =>
      redis.use(async (client) => {
        const pipeline = client.pipeline();
        for (const hash of hashes) pipeline.hgetall(`${KEY_PREFIX}${model}@${hash}`);
        return pipeline.exec();
      }),
    );
    const candidates = this.candidates(endpoints);
    const owners = (replies ?? []).map(([error, fields]) => {
      if (error !== null) throw error;
      return freshOwners(fields as Readonly<Record<string, string>>, candidates);
    });
    return { total: hashes.length, runs: ownedRuns(owners) };
  }

  private async tokens(
    request: ReadRequest,
    { model, settings, endpoints, signal }: Lookup,
  ): Promise<readonly number[] | undefined> {
    const endpoint = endpoints[Math.floor(this.options.random.next() * endpoints.length)]!;
    const asked = tokenizeRequest(request, model, endpoint.engine);
    if (asked.kind !== 'ask') return asked.kind === 'tokens' ? asked.tokens : undefined;
    const port = settings.tokenizerPort[endpoint.engine] ?? endpoint.port;
    const { statusCode, body } = await httpRequest(`${engineOrigin({ ...endpoint, port })}/tokenize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: asked.body,
      dispatcher: this.agent,
      signal,
    });
    const answer = (await body.json()) as { readonly tokens?: unknown } | null;
    if (statusCode !== 200 || !isTokens(answer?.tokens)) throw new Error(`the engine answered ${statusCode} to /tokenize`);
    return answer.tokens;
  }

  private async timed<T>(lookup: Lookup, stage: KvBlockStage, work: () => Promise<T>): Promise<T> {
    const { clock, metrics } = this.options;
    lookup.stage = stage;
    const startMs = clock.monotonic();
    const result = await work();
    metrics.took(stage, lookup.model, (clock.monotonic() - startMs) / 1000);
    return result;
  }

  private candidates(endpoints: readonly Endpoint[]): ReadonlyMap<string, Owner> {
    const { objects } = this.options;
    return new Map(
      endpoints.map(({ id, pod: { namespace, name } }) => {
        const startedSeconds = startSeconds(objects.get('Pod', namespace, name));
        return [`${name}.${namespace}`, { id, startedSeconds }];
      }),
    );
  }
}

interface Lookup {
  readonly model: string;
  readonly settings: KvBlockSettings;
  readonly endpoints: readonly Endpoint[];
  readonly redis: RedisConnection;
  readonly signal: AbortSignal;
  stage: KvBlockStage;
}

/** A candidate as fields of Redis name it. */
interface Owner {
  readonly id: string;
  /** Newest start of one of its containers, since the epoch; undefined where it is not known. */
  readonly startedSeconds: number | undefined;
}

/** What was written before the engine began anew is gone from its cache; a time that cannot be read counts as fresh, as in Kthena. */
function freshOwners(fields: Readonly<Record<string, string>>, candidates: ReadonlyMap<string, Owner>): ReadonlySet<string> {
  const owners = new Set<string>();
  for (const [name, written] of Object.entries(fields)) {
    const owner = candidates.get(name);
    if (owner !== undefined && !(owner.startedSeconds !== undefined && Number(written) <= owner.startedSeconds))
      owners.add(owner.id);
  }
  return owners;
}

function startSeconds(pod: Pod | undefined): number | undefined {
  let newest: number | undefined;
  for (const { state } of pod?.status?.containerStatuses ?? []) {
    const startedMs = Date.parse(state?.running?.startedAt ?? '');
    if (!Number.isNaN(startedMs)) newest = Math.max(newest ?? 0, Math.floor(startedMs / 1000));
  }
  return newest;
}
