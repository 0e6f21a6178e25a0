import type { StepTime } from '../../src/catalog/step-time';
import type { EnginePlan } from '../../src/expand/engine-plan';
import { sizeEngine } from '../../src/expand/engine-sizing';
import { type Clock, sleep } from '../lib/clock';
import { type Random, seededRandom } from '../lib/random';
import { wallClock } from '../lib/wall-clock';
import { AnswerWriter } from './answer/answer-writer';
import { approximateTokenizer } from './approximate-tokenizer';
import { EngineCore } from './engine-core';
import { engineLimits } from './engine-limits';
import type { FaceContext, FaceMetrics } from './face-context';
import type { FaultState, Faults } from './faults';
import { Generation } from './generation';
import { EngineListener } from './http/engine-listener';
import type { RunningEngine } from './running-engine';
import { sglangFace } from './sglang/sglang-face';
import { SglangMetrics } from './sglang/sglang-metrics';
import type { Tokenizer } from './tokenizer';
import { vllmDialect } from './vllm/dialect';
import { vllmFace } from './vllm/vllm-face';
import { VllmMetrics } from './vllm/vllm-metrics';

/** Recorded: after its core dies the API server still answers for about this long. */
const CRASH_EXIT_MS = 250;
/** Recorded: after SIGTERM without a shutdown timeout the socket is open for about this long. */
const SOCKET_CLOSE_MS = 100;
/** How long a client may take to read what was answered before the end. */
const FLUSH_MS = 1000;

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
  /** Blocks of KV cache, ≥ 2, of `engineLimits(plan).blockSize` tokens each. @default what the plan's model leaves room for on its GPUs */
  readonly numBlocks?: number;
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
  const { plan, tokenizer = approximateTokenizer, clock = wallClock(), random = seededRandom(1) } = options;
  const limits = engineLimits(plan);
  const size = sizeEngine(plan);
  const { stepTime = size.stepTime, numBlocks = Math.floor(size.kvCapacityTokens / limits.blockSize) } = options;
  const core: EngineCore = new EngineCore({
    clock,
    stepTime,
    ...limits,
    // SGLang keeps no block for itself.
    numBlocks: plan.engine === 'vllm' ? numBlocks : numBlocks + 1,
    enablePrefixCaching: plan.enablePrefixCaching,
    maxLoras: Math.max(1, plan.maxLoras),
    observer: {
      onAdmitted(request, atMs, cachedTokens) {
        if (request instanceof Generation) {
          request.admittedAtMs = atMs;
          request.cachedTokens = cachedTokens;
        }
        metrics.onAdmitted?.(request, atMs, cachedTokens);
      },
      onStep: (step) => metrics.onStep?.(step),
    },
  });
  const metrics = createMetrics(plan, clock, numBlocks, () => core);
  const faultState: FaultState = { cutAfterTokens: undefined, frozenMetrics: undefined };
  const context: FaceContext = {
    plan,
    limits,
    core,
    tokenizer,
    writer: new AnswerWriter(tokenizer),
    clock,
    random,
    faults: faultState,
    metrics,
    adapters: new Map(Object.entries(plan.adapters)),
    adapterExists: options.adapterExists ?? (() => true),
    phase: 'serving',
  };
  const face = plan.engine === 'vllm' ? vllmFace(context) : sglangFace(context);
  const listener = new EngineListener({
    routes: face.routes,
    guard: face.guard,
    onAnswered: (method, handler, status) => metrics.answered(method, handler, status),
  });
  const { host, port } = await listener.listen(options.host, options.port);

  let reportExit: (exit: { readonly reason: string }) => void = () => undefined;
  const exited = new Promise<{ readonly reason: string }>((resolve) => {
    reportExit = resolve;
  });
  let stopping: Promise<void> | undefined;

  const stop = async (graceMs: number): Promise<void> => {
    const timeoutMs = Math.min(graceMs, plan.shutdownTimeoutSeconds * 1000);
    const over = new AbortController();
    if (timeoutMs > 0 && core.isAlive) {
      context.phase = 'draining';
      await Promise.race([core.whenIdle(), sleep(clock, timeoutMs, over.signal)]);
      over.abort();
      context.phase = 'stalled';
      core.kill();
      const sent = new AbortController();
      await Promise.race([listener.finish(), sleep(clock, FLUSH_MS, sent.signal)]);
      sent.abort();
      listener.destroy();
      return;
    }
    context.phase = 'stalled';
    core.kill();
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
      core.kill();
      clock.after(CRASH_EXIT_MS, () => {
        listener.destroy();
        if (stopping === undefined) reportExit({ reason: 'the engine core died' });
      });
    },
    hang: () => core.freeze(),
    slow: (factor) => core.slowDown(factor),
    refuse: () => listener.close(),
    cutStreamAfter(tokens) {
      faultState.cutAfterTokens = tokens;
    },
    staleMetrics() {
      faultState.frozenMetrics ??= metrics.render();
    },
    async clear() {
      core.resume();
      core.slowDown(1);
      faultState.cutAfterTokens = undefined;
      faultState.frozenMetrics = undefined;
      if (context.phase === 'serving') await listener.reopen();
    },
  };

  return {
    host,
    port,
    core,
    faults,
    exited,
    stop(graceMs) {
      stopping ??= stop(graceMs);
      return stopping;
    },
    kill() {
      if (stopping === undefined) reportExit({ reason: 'killed' });
      context.phase = 'stalled';
      core.kill();
      listener.destroy();
    },
    stats: () => core.stats(),
  };
}

function createMetrics(plan: EnginePlan, clock: Clock, numBlocks: number, core: () => EngineCore): FaceMetrics {
  const limits = engineLimits(plan);
  if (plan.engine === 'sglang') return new SglangMetrics({ plan, clock, core });
  const dialect = vllmDialect(plan.version);
  return new VllmMetrics({
    plan,
    limits,
    numBlocks,
    clock,
    core,
    isRecent: dialect.isRecent,
    hasOldNames: dialect.hasOldMetricNames,
  });
}
