import { kvBytesPerToken } from '../../src/catalog/models';
import type { StepTime } from '../../src/catalog/step-time';
import type { EnginePlan } from '../../src/expand/engine-plan';
import { sizeEngine } from '../../src/expand/engine-sizing';
import { type Clock, sleep } from '../lib/clock';
import { type Random, seededRandom } from '../lib/random';
import { wallClock } from '../lib/wall-clock';
import { AnswerWriter } from './answer/answer-writer';
import { approximateTokenizer } from './approximate-tokenizer';
import { sumStats } from './core/engine-stats';
import { EngineCore } from './engine-core';
import { type EngineLimits, engineLimits } from './engine-limits';
import type { EngineRank } from './engine-rank';
import type { FaceContext, FaceMetrics } from './face-context';
import type { FaultState, Faults } from './faults';
import { Generation } from './generation';
import { EngineListener } from './http/engine-listener';
import { addHandOffs, NO_HAND_OFFS } from './kv/hand-off-stats';
import type { KvFabric } from './kv/kv-fabric';
import { DEFAULT_KV_LINK_GBPS, type KvLink } from './kv/kv-link';
import { SocketFabric } from './kv/socket-fabric';
import { rankPlan } from './rank-plan';
import type { RunningEngine } from './running-engine';
import { RunningRequests } from './running-requests';
import { sglangFace } from './sglang/sglang-face';
import { SglangMetrics } from './sglang/sglang-metrics';
import { startSglangTransfer } from './sglang/start-transfer';
import type { Tokenizer } from './tokenizer';
import { vllmDialect } from './vllm/dialect';
import { startConnectors } from './vllm/start-connectors';
import { vllmFace } from './vllm/vllm-face';
import { VllmMetrics } from './vllm/vllm-metrics';

/** Recorded: after its core dies the API server still answers for about this long. */
const CRASH_EXIT_MS = 250;
/** Recorded: after SIGTERM without a shutdown timeout the socket is open for about this long. */
const SOCKET_CLOSE_MS = 100;
/** How long a client may take to read what was answered before the end. */
const FLUSH_MS = 1000;
/** Where the engines of this process find each other, and their shared stores, unless they are given something else. */
const SOCKETS: KvFabric = new SocketFabric();

export interface StartEngineOptions {
  readonly plan: EnginePlan;
  /** Address to listen on. */
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  /** @default real time */
  readonly clock?: Clock;
  /** @default a source that is seeded the same each time */
  readonly random?: Random;
  /** @default that of the plan's model on its GPUs, by the catalogue */
  readonly stepTime?: StepTime;
  /** Blocks of KV cache of each data-parallel rank, ≥ 2, of `engineLimits(plan).blockSize` tokens each. @default what the plan's model leaves room for on its GPUs */
  readonly numBlocks?: number;
  /** How it finds engines that it hands KV to or takes it from. @default sockets */
  readonly fabric?: KvFabric;
  /** Port of its side channel or bootstrap server instead of the plan's; 0 chooses a free one. @default the plan's */
  readonly kvPort?: number;
  /** Bandwidth between engines in GB/s (10⁹). @default 25, a 200 Gb/s card */
  readonly kvLinkGBps?: number;
  /** @default an approximate one */
  readonly tokenizer?: Tokenizer;
  /** Whether an adapter lies at a path that a client wants to load. @default every path has one */
  readonly adapterExists?: (path: string) => boolean;
}

/**
 * Starts a simulated engine on a port.
 *
 * @throws KvasirError `listen/address-in-use`, `listen/not-allowed` or `listen/failed`.
 */
export async function startEngine(options: StartEngineOptions): Promise<RunningEngine> {
  const { plan, tokenizer = approximateTokenizer, clock = wallClock(), random = seededRandom(1), fabric = SOCKETS } = options;
  const limits = engineLimits(plan);
  const size = sizeEngine(rankPlan(plan));
  const { stepTime = size.stepTime, numBlocks = Math.floor(size.kvCapacityTokens / limits.blockSize) } = options;
  const link: KvLink = {
    bytesPerToken: kvBytesPerToken(size.shape),
    gigabytesPerSecond: options.kvLinkGBps ?? DEFAULT_KV_LINK_GBPS,
  };
  const ranks: EngineRank[] = [];
  const metrics = createMetrics(plan, limits, numBlocks, clock, () => context);
  const faultState: FaultState = { cutAfterTokens: undefined, frozenMetrics: undefined };
  const transfers = { plan, host: options.host, clock, fabric, link };
  let crash: () => void = () => undefined;
  let httpPort = options.port;
  const transfer = await startSglangTransfer({
    ...transfers,
    kvPort: options.kvPort,
    pageSize: limits.blockSize,
    httpPort: () => httpPort,
  });
  const connectors = await startConnectors({ ...transfers, kvPort: options.kvPort, random, crash: () => crash() });
  for (let index = 0; index < (plan.dataParallelSize ?? 1); index++) {
    const core = new EngineCore({
      clock,
      stepTime,
      ...limits,
      // SGLang keeps no block for itself.
      numBlocks: plan.engine === 'vllm' ? numBlocks : numBlocks + 1,
      // SGLang's decode has no prefix cache unless a flag gives it one; its KV comes from prefill.
      enablePrefixCaching: plan.enablePrefixCaching && transfer?.role !== 'decode',
      maxLoras: Math.max(1, plan.maxLoras),
      observer: {
        onAdmitted(request, atMs, cachedTokens) {
          if (request instanceof Generation) {
            request.admittedAtMs = atMs;
            request.localTokens = cachedTokens;
          }
          metrics.onAdmitted(index, request, atMs, cachedTokens);
        },
        onStep: (step) => metrics.onStep(index, step),
      },
    });
    const connector = connectors[index] ?? connectors[0];
    ranks.push({ index, core, ...(connector === undefined ? {} : { connector }) });
  }
  const core = ranks[0]!.core;
  const context: FaceContext = {
    plan,
    limits,
    core,
    ranks,
    ...(transfer === undefined ? {} : { transfer }),
    requests: new RunningRequests(),
    tokenizer,
    writer: new AnswerWriter(tokenizer),
    clock,
    random,
    faults: faultState,
    metrics,
    adapters: new Map(Object.entries(plan.adapters)),
    adapterExists: options.adapterExists ?? (() => true),
    phase: 'serving',
    crash: () => crash(),
  };
  const face = plan.engine === 'vllm' ? vllmFace(context) : sglangFace(context);
  const listener = new EngineListener({
    routes: face.routes,
    guard: face.guard,
    onAnswered: (method, handler, status) => metrics.answered(method, handler, status),
  });
  const killCores = (): void => {
    for (const rank of ranks) rank.core.kill();
  };
  const closeTransfers = (): void => {
    transfer?.close();
    for (const connector of connectors) connector.close();
  };
  const { host, port } = await listener.listen(options.host, options.port).catch((error: unknown) => {
    closeTransfers();
    throw error;
  });
  httpPort = port;

  let reportExit: (exit: { readonly reason: string }) => void = () => undefined;
  const exited = new Promise<{ readonly reason: string }>((resolve) => {
    reportExit = resolve;
  });
  let stopping: Promise<void> | undefined;

  const whenIdle = (): Promise<unknown> => Promise.all(ranks.map((rank) => rank.core.whenIdle()));
  const stop = async (graceMs: number): Promise<void> => {
    const timeoutMs = Math.min(graceMs, plan.shutdownTimeoutSeconds * 1000);
    const over = new AbortController();
    if (timeoutMs > 0 && core.isAlive) {
      context.phase = 'draining';
      await Promise.race([whenIdle(), sleep(clock, timeoutMs, over.signal)]);
      over.abort();
      context.phase = 'stalled';
      killCores();
      closeTransfers();
      const sent = new AbortController();
      await Promise.race([listener.finish(), sleep(clock, FLUSH_MS, sent.signal)]);
      sent.abort();
      listener.destroy();
      return;
    }
    context.phase = 'stalled';
    killCores();
    closeTransfers();
    await sleep(clock, Math.min(SOCKET_CLOSE_MS, graceMs));
    listener.close();
    await Promise.race([listener.whenUnused(), sleep(clock, Math.max(0, graceMs - SOCKET_CLOSE_MS), over.signal)]);
    over.abort();
    listener.destroy();
  };

  const faults: Faults = {
    kill() {
      if (context.phase !== 'serving') return;
      context.phase = 'crashed';
      killCores();
      closeTransfers();
      clock.after(CRASH_EXIT_MS, () => {
        listener.destroy();
        if (stopping === undefined) reportExit({ reason: 'the engine core died' });
      });
    },
    hang: () => {
      for (const rank of ranks) rank.core.freeze();
    },
    slow: (factor) => {
      for (const rank of ranks) rank.core.slowDown(factor);
    },
    refuse: () => listener.close(),
    cutStreamAfter(tokens) {
      faultState.cutAfterTokens = tokens;
    },
    staleMetrics() {
      faultState.frozenMetrics ??= metrics.render();
    },
    async clear() {
      for (const rank of ranks) {
        rank.core.resume();
        rank.core.slowDown(1);
      }
      faultState.cutAfterTokens = undefined;
      faultState.frozenMetrics = undefined;
      if (context.phase === 'serving') await listener.reopen();
    },
  };

  crash = faults.kill;
  const kvAddress = transfer?.address ?? connectors[0]?.address;

  return {
    host,
    port,
    ...(kvAddress === undefined ? {} : { kvAddress }),
    core,
    ranks: ranks.map((rank) => rank.core),
    faults,
    exited,
    stop(graceMs) {
      stopping ??= stop(graceMs);
      return stopping;
    },
    kill() {
      if (stopping === undefined) reportExit({ reason: 'killed' });
      context.phase = 'stalled';
      killCores();
      closeTransfers();
      listener.destroy();
    },
    stats: () => sumStats(ranks.map((rank) => rank.core.stats())),
    handOffs: () =>
      [...(transfer === undefined ? [] : [transfer]), ...connectors]
        .map((each) => each.stats())
        .reduce(addHandOffs, NO_HAND_OFFS),
  };
}

function createMetrics(
  plan: EnginePlan,
  limits: EngineLimits,
  numBlocks: number,
  clock: Clock,
  context: () => FaceContext,
): FaceMetrics {
  if (plan.engine === 'sglang') return new SglangMetrics(plan, context);
  const dialect = vllmDialect(plan.version);
  return new VllmMetrics(
    { plan, limits, numBlocks, clock, isRecent: dialect.isRecent, hasOldNames: dialect.hasOldMetricNames },
    () => context().ranks,
  );
}
