import { describeObject } from '../../../../src/api/meta';
import type { ModelRoute } from '../../../../src/api/model-route';
import type { RouterConfig } from '../../../../src/config/router-config';
import { type Finding, findingLine } from '../../../../src/errors';
import type { Objects } from '../../../cluster/objects';
import type { Clock } from '../../../lib/clock';
import { type Logger, logFindings } from '../../../lib/logger';
import type { Redis } from '../../../lib/redis';
import { RouterError } from '../../errors';
import type { LimitMetrics } from '../../observability/limit-metrics';
import { type UsedTokens, usedTokens } from '../../observability/used-tokens';
import type { IncomingRequest, MatchedRequest } from '../../request';
import type { Reservations } from '../../reservations';
import type { Identity } from '../identity';
import { ClientLimits } from './client-limits';
import type { Limit, Quantity } from './limit';
import { type LimitLevel, limitHeaders } from './limit-headers';
import { limitRefusal } from './limit-refusal';
import type { Demand, LimitStore, Verdict } from './limit-store';
import { MemoryStore } from './memory-store';
import { RedisStore } from './redis-store';
import { type RouteLimitTable, routeLimits } from './route-limits';

export interface LimitsOptions {
  readonly objects: Objects;
  readonly clock: Clock;
  readonly config: Pick<RouterConfig, 'rateLimit'>;
  readonly redis: Redis;
  readonly metrics: LimitMetrics;
  readonly log: Logger;
}

/** What a limit is asked about. */
export interface LimitedRequest {
  readonly incoming: Pick<IncomingRequest, 'answer' | 'trace'>;
  readonly request: { readonly head: { readonly path: string }; readonly parsed: { readonly promptTokens: number } };
  readonly matched: Pick<MatchedRequest, 'route'>;
  readonly identity: Identity;
  readonly reservations: Reservations;
}

/** Limits and how far they are used, for people. Who used what of the limits of clients is not in it. */
export interface LimitsStatus {
  /** Requests whose use is not settled. */
  readonly reserved: number;
  readonly routes: readonly {
    /** `ModelRoute namespace/name`. */
    readonly route: string;
    /** Redis in which it is counted, or `memory`. */
    readonly countedIn: string;
    readonly limits: readonly {
      readonly quantity: Quantity;
      readonly unit: Limit['unit'];
      readonly capacity: number;
      /** What is left, below 0 while something is owed; absent for what Redis counts. */
      readonly left?: number;
    }[];
  }[];
}

/** Limits that are counted in one place. */
interface Group {
  readonly store: LimitStore;
  readonly limits: readonly Limit[];
}

/**
 * Limits of tokens and requests per unit of time: of routes, as they are now, and of clients. Input is reserved by its estimate and settled
 * by what the engine counted; output is counted when it is known, and what goes beyond the limit is owed.
 */
export class Limits {
  private table: RouteLimitTable = { byRoute: new Map(), findings: [] };
  private clients!: ClientLimits;
  private readonly memory: MemoryStore;
  private readonly shared = new Map<string, RedisStore>();
  private readonly unlisten: () => void;
  private told: ReadonlySet<string> = new Set();
  private held = 0;

  constructor(private readonly options: LimitsOptions) {
    const { objects, clock } = options;
    this.memory = new MemoryStore(clock);
    this.configChanged();
    this.unlisten = objects.changed('ModelRoute', () => this.update(objects.list('ModelRoute')));
    this.update(objects.list('ModelRoute'));
  }

  /** Reads its configuration anew. Who has used what stays known, by the names of the limits. */
  configChanged(): void {
    const { config, redis } = this.options;
    this.clients = new ClientLimits(config.rateLimit.clients);
    if (config.rateLimit.clients.length > 0) redis.own?.open();
  }

  /** Reservations that are not settled. */
  get reserved(): number {
    return this.held;
  }

  /**
   * At once and at no cost for a request without limits; at once for limits in memory.
   *
   * @throws RouterError (or rejects with it) `input_rate_limit`, `output_rate_limit`, `request_rate_limit`, `prompt_over_limit`.
   */
  reserve(limited: LimitedRequest): void | Promise<void> {
    const route = this.table.byRoute.get(limited.matched.route);
    const clients = this.clients.of(limited.identity);
    if (route === undefined && clients.length === 0) return;
    const groups: Group[] = [];
    if (route !== undefined) groups.push({ store: this.storeAt(route.address), limits: route.limits });
    if (clients.length > 0) groups.push({ store: this.storeAt(this.options.redis.own?.address), limits: clients });
    return this.reserveEach(groups, limited, []);
  }

  findings(): readonly Finding[] {
    return this.table.findings;
  }

  status(): LimitsStatus {
    const routes = [...this.table.byRoute].map(([route, { limits, address }]) => ({
      route: describeObject(route),
      countedIn: address ?? 'memory',
      limits: limits.map((limit) => ({
        quantity: limit.quantity,
        unit: limit.unit,
        capacity: limit.size.capacity,
        ...(address === undefined ? { left: this.memory.level(limit) } : {}),
      })),
    }));
    return { reserved: this.held, routes };
  }

  /** Resolves when everything that is known to be used has been told to Redis, as far as it can be reached. */
  async close(): Promise<void> {
    this.unlisten();
    await Promise.all([...this.shared.values()].map((store) => store.settled()));
  }

  private update(routes: readonly ModelRoute[]): void {
    this.table = routeLimits(routes);
    const addresses = new Set<string>();
    for (const { address } of this.table.byRoute.values()) if (address !== undefined) addresses.add(address);
    for (const address of addresses) this.options.redis.at(address).open();
    for (const address of this.shared.keys()) {
      if (!addresses.has(address) && address !== this.options.redis.own?.address) this.shared.delete(address);
    }
    this.options.redis.keep(addresses);
    const report = logFindings(this.options.log);
    const lines = new Set(this.table.findings.map(findingLine));
    for (const finding of this.table.findings) if (!this.told.has(findingLine(finding))) report(finding);
    this.told = lines;
  }

  private storeAt(address: string | undefined): LimitStore {
    if (address === undefined) return this.memory;
    let store = this.shared.get(address);
    if (store === undefined) {
      const { clock, redis, config, metrics } = this.options;
      const replicas = () => config.rateLimit.replicas;
      store = new RedisStore({ connection: redis.at(address), clock, replicas, onLocal: () => metrics.decidedHere() });
      this.shared.set(address, store);
    }
    return store;
  }

  /** One place after the other; the first that waits makes the rest wait. What an earlier one gave is given back by `reservations`. */
  private reserveEach(groups: readonly Group[], limited: LimitedRequest, levels: LimitLevel[]): void | Promise<void> {
    for (const [i, group] of groups.entries()) {
      const demands = demandsOf(group.limits, limited.request);
      if (demands.length === 0) continue;
      const verdict = group.store.take(demands);
      if (verdict instanceof Promise) {
        return verdict.then((later) => {
          this.granted(group, demands, later, limited, levels);
          if (limited.incoming.answer.isClosed) throw new RouterError('client_closed', 'the client left');
          return this.reserveEach(groups.slice(i + 1), limited, levels);
        });
      }
      this.granted(group, demands, verdict, limited, levels);
    }
    if (levels.length > 0) limited.incoming.answer.setRateLimits(limitHeaders(levels));
  }

  private granted(
    { store }: Group,
    demands: readonly Demand[],
    verdict: Verdict,
    { incoming: { answer, trace }, reservations }: LimitedRequest,
    levels: LimitLevel[],
  ): void {
    demands.forEach(({ limit }, i) => {
      levels.push({ limit, level: verdict.levels[i]! });
    });
    if (!verdict.isGranted) {
      const refusal = limitRefusal(demands, verdict.levels);
      this.options.metrics.refused(trace.model, refusal.quantity, trace.path);
      answer.setRateLimits(limitHeaders(levels));
      // Official clients try a 429 again unless they are told not to.
      if (refusal.isFinal) answer.addHeader('x-should-retry', 'false');
      throw refusal.error;
    }
    this.held += 1;
    reservations.take<void>(() => {
      this.held -= 1;
      this.settle(store, demands, usedTokens(trace), trace.attempts > 0);
    }, undefined);
  }

  private settle(store: LimitStore, demands: readonly Demand[], used: UsedTokens | undefined, wasSent: boolean): void {
    const { cachedTokenWeight } = this.options.config.rateLimit;
    const amounts: Readonly<Record<Quantity, number>> = {
      requests: wasSent ? 1 : 0,
      input: used === undefined ? 0 : used.input - used.cached * (1 - cachedTokenWeight),
      output: used?.output ?? 0,
    };
    const charges = demands
      .map(({ limit, take }) => ({ limit, amount: amounts[limit.quantity] - take }))
      .filter(({ amount }) => amount !== 0);
    if (charges.length > 0) store.charge(charges);
  }
}

/** Paths that count tokens and compute none: only limits of requests are for them. */
const TOKENLESS: ReadonlySet<string> = new Set(['/tokenize', '/detokenize', '/v1/messages/count_tokens']);

function demandsOf(limits: readonly Limit[], { head, parsed }: LimitedRequest['request']): readonly Demand[] {
  const limited = TOKENLESS.has(head.path) ? limits.filter(({ quantity }) => quantity === 'requests') : limits;
  return limited.map((limit) => demandOf(limit, parsed.promptTokens));
}

/** Input is reserved in full; of output nothing is known yet, so that one token must be left. */
function demandOf(limit: Limit, promptTokens: number): Demand {
  switch (limit.quantity) {
    case 'requests':
      return { limit, need: 1, take: 1 };
    case 'input':
      return { limit, need: promptTokens, take: promptTokens };
    case 'output':
      return { limit, need: 1, take: 0 };
  }
}
