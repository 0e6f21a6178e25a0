import type { Container, Pod } from '../api/pod';
import type { Engine } from '../catalog/engines/engine';
import { ENGINES, engineOfApiName, engineTable, newestVersion } from '../catalog/engines/engine-table';
import { Labels } from '../labels';
import { commandLineOf, literalEnv } from './command-line';
import { FlagReader, parseEngineFlags } from './engine-flags';
import { engineImageOf } from './engine-image';
import { adaptersOf, modelOf } from './engine-model';
import type { EnginePlan } from './engine-plan';
import { kvTransferPlan } from './kv-transfer-plan';
import { acceleratorOf, gpusOf } from './pod-accelerators';
import { type PodService, type ServingContext, serviceOf } from './serving-context';

/** A container that serves, with what is known of its engine. */
interface Found {
  readonly container: Container;
  readonly engine: Engine;
  readonly version: string;
  /** Arguments of the engine; undefined when image and command tell none. */
  readonly args: readonly string[] | undefined;
}

/** vLLM's own default model, which a server started without any model serves. */
const FALLBACK_MODEL = 'Qwen/Qwen3-0.6B';
/** SGLang's `--max-loras-per-batch`; vLLM's `--max-loras` is 1. */
const SGLANG_MAX_LORAS = 8;
/** vLLM's `--max-lora-rank`. */
const DEFAULT_LORA_RANK = 16;
/** Kubernetes' default for `terminationGracePeriodSeconds`. */
const DEFAULT_GRACE_SECONDS = 30;

/**
 * Reads what engine a pod runs from its image, command, flags, environment, annotations and node selector. Where image and command say
 * nothing, the ModelServers that select the pod tell engine, port and model, and the routes to them tell adapters.
 *
 * @returns undefined for a pod that serves nothing: no engine of the catalogue and no ModelServer that selects it, a worker whose
 *   command does not serve, a Ray worker, a headless or later node of a replica.
 */
export function planEngine(pod: Pod, context: ServingContext): EnginePlan | undefined {
  const service = serviceOf(pod, context);
  const found = findEngine(pod, service);
  if (found === undefined) return undefined;
  const { container, engine } = found;
  const env = literalEnv(container);
  const flags = new FlagReader(parseEngineFlags(found.args ?? [], engineTable(engine.name, found.version).flags));
  if (isWorkerNode(flags)) return undefined;
  const isSilent = found.args === undefined;
  const model = modelOf(pod, { flags, env, service, isSilent, fallback: FALLBACK_MODEL });
  const adapters = isSilent ? Object.fromEntries(service.adapters.map((name) => [name, name])) : adaptersOf(flags);
  return {
    ...(engine.name === 'vllm' ? vllmPlan(flags, env, isSilent) : sglangPlan(flags, pod, isSilent)),
    engine: engine.name,
    version: found.version,
    model: model.name,
    servedModelNames: model.servedNames,
    adapters,
    port: portOf(found, flags, service),
    tensorParallelSize: flags.count('--tensor-parallel-size', '--tp-size') ?? 1,
    pipelineParallelSize: flags.count('--pipeline-parallel-size', '--pp-size'),
    dtype: named(flags.text('--dtype')),
    quantization: flags.text('--quantization'),
    kvCacheDtype: named(flags.text('--kv-cache-dtype')),
    revision: flags.text('--revision'),
    maxLoraRank: (flags.flag('--enable-lora') ?? false) ? (flags.count('--max-lora-rank') ?? DEFAULT_LORA_RANK) : undefined,
    isSilent,
    kvTransfer: kvTransferPlan(engine.name, flags, env),
    gpus: gpusOf(pod),
    accelerator: acceleratorOf(pod)?.name,
    maxLoras: maxLorasOf(engine, flags, isSilent ? Object.keys(adapters).length : 0),
  };
}

/** Whether the pod only computes for another one of its replica, which answers the requests. */
function isWorkerNode(flags: FlagReader): boolean {
  return (flags.flag('--headless') ?? false) || (flags.number('--node-rank') ?? 0) > 0;
}

/** `auto` names nothing. */
function named(value: string | undefined): string | undefined {
  return value === 'auto' ? undefined : value;
}

function findEngine(pod: Pod, service: PodService): Found | undefined {
  const containers = pod.spec.containers.map((container) => ({
    container,
    line: commandLineOf(container),
    image: engineImageOf(container.image),
  }));
  for (const { container, line, image } of containers) {
    if (line.kind !== 'engine') continue;
    const version = image?.engine === line.engine ? image.version : newestVersion(line.engine);
    return { container, engine: ENGINES[line.engine], version, args: line.args };
  }
  for (const { container, line, image } of containers) {
    if (image === undefined || line.kind !== 'entrypoint') continue;
    const args = line.args.length === 0 ? undefined : line.args;
    return { container, engine: ENGINES[image.engine], version: image.version, args };
  }
  // From here on the command is not understood; a worker of a serving group is then no server of its own.
  const candidates = isGroupWorker(pod) ? [] : containers.filter(({ line }) => line.kind !== 'ray-worker');
  const scripted = candidates.find(({ image }) => image !== undefined);
  const server = service.servers[0];
  if (scripted?.image !== undefined) {
    return {
      container: scripted.container,
      engine: ENGINES[scripted.image.engine],
      version: scripted.image.version,
      args: undefined,
    };
  }
  if (server === undefined || candidates.length === 0) return undefined;
  const port = server.spec.workloadPort.port;
  const { container } =
    candidates.find((candidate) => candidate.container.ports?.some((p) => p.containerPort === port)) ?? candidates[0]!;
  const engine = engineOfApiName(server.spec.inferenceEngine);
  return { container, engine, version: newestVersion(engine.name), args: undefined };
}

function isGroupWorker(pod: Pod): boolean {
  const labels = pod.metadata.labels ?? {};
  return labels[Labels.modelServingName] !== undefined && labels[Labels.modelServingEntry] !== 'true';
}

function portOf({ engine, args, container }: Found, flags: FlagReader, service: PodService): number {
  if (args !== undefined) return flags.port('--port') ?? engine.defaultPort;
  return service.servers[0]?.spec.workloadPort.port ?? container.ports?.[0]?.containerPort ?? engine.defaultPort;
}

function vllmPlan(flags: FlagReader, env: Readonly<Record<string, string>>, isSilent: boolean) {
  return {
    maxModelLen: flags.count('--max-model-len'),
    isContextOpen:
      /^(?:-1|auto)$/.test(flags.text('--max-model-len') ?? '') ||
      flags.has('--hf-overrides', '--rope-scaling', '--hf-config-path'),
    dataParallelSize: flags.count('--data-parallel-size'),
    isExpertParallel: flags.flag('--enable-expert-parallel'),
    loadsAdaptersAtRunTime: /^(?:1|true)$/i.test(env.VLLM_ALLOW_RUNTIME_LORA_UPDATING ?? ''),
    maxNumSeqs: flags.count('--max-num-seqs'),
    maxNumBatchedTokens: flags.count('--max-num-batched-tokens'),
    blockSize: flags.count('--block-size'),
    // `--kv-cache-size` is how llm-d-inference-sim calls it.
    numGpuBlocks: flags.count('--num-gpu-blocks-override', '--kv-cache-size'),
    gpuMemoryUtilization: flags.number('--gpu-memory-utilization'),
    // A stand-in that says nothing reports what it knows.
    reportsCachedTokens: flags.flag('--enable-prompt-tokens-details') ?? isSilent,
    enablePrefixCaching: flags.flag('--enable-prefix-caching') ?? true,
    apiKey: flags.text('--api-key') ?? env.VLLM_API_KEY,
    shutdownTimeoutSeconds: flags.number('--shutdown-timeout') ?? 0,
  };
}

function sglangPlan(flags: FlagReader, pod: Pod, isSilent: boolean) {
  const pageSize = flags.count('--page-size');
  const tokens = flags.count('--max-total-tokens');
  return {
    maxModelLen: flags.count('--context-length'),
    isContextOpen: flags.has('--json-model-override-args'),
    // With attention data parallelism the copies share the tensor-parallel GPUs.
    dataParallelSize: flags.flag('--enable-dp-attention') === true ? undefined : flags.count('--dp-size'),
    // SGLang loads and unloads adapters over HTTP whenever they are switched on.
    loadsAdaptersAtRunTime: flags.flag('--enable-lora') ?? false,
    maxNumSeqs: flags.count('--max-running-requests'),
    maxNumBatchedTokens: flags.count('--chunked-prefill-size'),
    // Pages hold one token unless a flag says otherwise; said here where blocks are counted in them.
    blockSize: pageSize ?? (tokens === undefined ? undefined : 1),
    numGpuBlocks: tokens === undefined ? undefined : Math.floor(tokens / (pageSize ?? 1)),
    gpuMemoryUtilization: flags.number('--mem-fraction-static'),
    reportsCachedTokens: flags.flag('--enable-cache-report') ?? isSilent,
    enablePrefixCaching: !(flags.flag('--disable-radix-cache') ?? false),
    apiKey: flags.text('--api-key'),
    // On SIGTERM SGLang serves its running requests to their end; the kubelet's grace period is the limit.
    shutdownTimeoutSeconds: pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
  };
}

function maxLorasOf(engine: Engine, flags: FlagReader, routedAdapters: number): number {
  const given = flags.count('--max-loras', '--max-loras-per-batch');
  return given ?? Math.max(engine.name === 'sglang' ? SGLANG_MAX_LORAS : 1, routedAdapters);
}
