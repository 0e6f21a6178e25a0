import { engineTable } from '../../src/catalog/engines/engine-table';
import { vllm } from '../../src/catalog/engines/vllm';
import { checkCommandLine, toWords } from './command-line';
import type { EngineSpec, Launch, LaunchRequest } from './engine-spec';
import { kvLayoutOf } from './kv-layout';

/** Common flags of vLLM. Units and ranges are vLLM's own; an absent one keeps vLLM's default. */
export interface VllmOptions {
  /** Container image. @default 'vllm/vllm-openai:v<version>' */
  readonly image?: string;
  /** Port of the HTTP server. @default 8000 */
  readonly port?: number;
  /** Context length in tokens. @default the model's own */
  readonly maxModelLen?: number;
  /** Most sequences in a batch. @default vLLM's, by GPU */
  readonly maxNumSeqs?: number;
  /** Token budget of one step. @default vLLM's, by GPU */
  readonly maxNumBatchedTokens?: number;
  /** Share of GPU memory for weights and KV cache, 0..1. @default 0.92 */
  readonly gpuMemoryUtilization?: number;
  /** Tokens per KV block. @default vLLM's, by attention backend */
  readonly blockSize?: number;
  /** @default 'auto' */
  readonly dtype?: 'auto' | 'bfloat16' | 'float' | 'float16' | 'float32' | 'half';
  /** @default 'auto', the model's dtype */
  readonly kvCacheDtype?: string;
  /** @default what the checkpoint says */
  readonly quantization?: string;
  /** @default true */
  readonly enablePrefixCaching?: boolean;
  /** Parser of tool calls; switches `tool_choice: auto` on. @default none */
  readonly toolCallParser?: string;
  /** @default none */
  readonly reasoningParser?: string;
  /** Runs code from the model repository. @default false */
  readonly trustRemoteCode?: boolean;
  /** More words for the command line, checked against the flags of this version. @default none */
  readonly extraArgs?: readonly string[];
}

/** vLLM of `version`, a release such as `0.32.0`. */
export function vllmSpec(version: string, options: VllmOptions): EngineSpec {
  const table = engineTable('vllm', version);
  return {
    name: `vLLM ${version}`,
    apiName: vllm.apiName,
    image: options.image ?? `${vllm.imageRepositories[0]}:v${version}`,
    release: { name: 'vllm', version },
    port: options.port ?? vllm.defaultPort,
    healthPath: vllm.healthPath,
    metricsPath: vllm.metricsPath,
    metrics: {
      runningRequests: table.metrics.running?.name,
      waitingRequests: table.metrics.waiting?.name,
      kvCacheUsage: table.metrics.kvUsage?.name,
    },
    maxModelLen: options.maxModelLen,
    // The flag is in every recorded version; an engine that is older than all of them may not have it.
    finishesStreams: table.flags.has('--shutdown-timeout'),
    launch: (request) => launch(request, options),
    kvLayoutOf: ({ args }) => kvLayoutOf(args, table),
    check: ({ args }) => checkCommandLine('vLLM', version, table, args),
  };
}

function launch(request: LaunchRequest, options: VllmOptions): Launch {
  const flags = toWords({
    '--served-model-name': request.servedModelName,
    '--host': '0.0.0.0',
    '--port': options.port ?? vllm.defaultPort,
    '--revision': request.revision,
    '--tensor-parallel-size': moreThanOne(request.tensorParallel),
    '--pipeline-parallel-size': moreThanOne(request.pipelineParallel),
    '--nnodes': request.node?.count,
    '--node-rank': request.node?.index,
    '--master-addr': request.node?.leaderAddress,
    '--headless': request.node?.isLeader === false ? true : undefined,
    '--max-model-len': options.maxModelLen,
    '--max-num-seqs': options.maxNumSeqs,
    '--max-num-batched-tokens': options.maxNumBatchedTokens,
    '--gpu-memory-utilization': options.gpuMemoryUtilization,
    '--block-size': options.blockSize,
    '--dtype': options.dtype,
    '--kv-cache-dtype': options.kvCacheDtype,
    '--quantization': options.quantization,
    '--enable-prefix-caching': options.enablePrefixCaching,
    '--enable-auto-tool-choice': options.toolCallParser === undefined ? undefined : true,
    '--tool-call-parser': options.toolCallParser,
    '--reasoning-parser': options.reasoningParser,
    '--trust-remote-code': options.trustRemoteCode === true ? true : undefined,
    // The router learns from usage what was cached, and finds a request again by its id.
    '--enable-prompt-tokens-details': true,
    '--enable-request-id-headers': true,
    // Without it SIGTERM stalls every running stream for its client.
    '--shutdown-timeout': request.drainSeconds,
  });
  return { command: ['vllm', 'serve'], args: [request.model, ...flags, ...(options.extraArgs ?? [])] };
}

function moreThanOne(size: number): number | undefined {
  return size > 1 ? size : undefined;
}
