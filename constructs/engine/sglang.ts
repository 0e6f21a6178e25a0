import { engineTable } from '../../src/catalog/engines/engine-table';
import { sglang } from '../../src/catalog/engines/sglang';
import { checkCommandLine, toWords } from './command-line';
import type { EngineSpec, Launch, LaunchRequest } from './engine-spec';
import { kvLayoutOf } from './kv-layout';

/** Common flags of SGLang. Units and ranges are SGLang's own; an absent one keeps SGLang's default. */
export interface SglangOptions {
  /** Container image. @default 'lmsysorg/sglang:v<version>' */
  readonly image?: string;
  /** Port of the HTTP server. @default 30000 */
  readonly port?: number;
  /** Context length in tokens. @default the model's own */
  readonly maxModelLen?: number;
  /** Most requests in a batch. @default SGLang's, by memory */
  readonly maxRunningRequests?: number;
  /** Tokens of one step of a chunked prefill. @default SGLang's, by GPU */
  readonly chunkedPrefillSize?: number;
  /** Share of GPU memory for weights and KV cache, 0..1. @default SGLang's, by GPU */
  readonly memFractionStatic?: number;
  /** Tokens per KV page. @default SGLang's, by attention backend */
  readonly pageSize?: number;
  /** @default 'auto' */
  readonly dtype?: 'auto' | 'bfloat16' | 'float' | 'float16' | 'float32' | 'half';
  /** @default 'auto', the model's dtype */
  readonly kvCacheDtype?: string;
  /** @default what the checkpoint says */
  readonly quantization?: string;
  /** @default none */
  readonly toolCallParser?: string;
  /** @default none */
  readonly reasoningParser?: string;
  /** Runs code from the model repository. @default false */
  readonly trustRemoteCode?: boolean;
  /** More words for the command line, checked against the flags of this version. @default none */
  readonly extraArgs?: readonly string[];
}

/** Port at which the pods of a replica meet; SGLang has no default for it. */
const RENDEZVOUS_PORT = 20_000;

/** SGLang of `version`, a release such as `0.5.23`. */
export function sglangSpec(version: string, options: SglangOptions): EngineSpec {
  const table = engineTable('sglang', version);
  return {
    name: `SGLang ${version}`,
    apiName: sglang.apiName,
    image: options.image ?? `${sglang.imageRepositories[0]}:v${version}`,
    release: { name: 'sglang', version },
    port: options.port ?? sglang.defaultPort,
    healthPath: sglang.healthPath,
    metricsPath: sglang.metricsPath,
    metrics: {
      runningRequests: table.metrics.running?.name,
      waitingRequests: table.metrics.waiting?.name,
      kvCacheUsage: table.metrics.kvUsage?.name,
    },
    maxModelLen: options.maxModelLen,
    // SGLang has no flag for it, so the pod waits before SIGTERM instead.
    finishesStreams: false,
    launch: (request) => launch(request, options),
    kvLayoutOf: ({ args }) => kvLayoutOf(args, table),
    check: ({ args }) => checkCommandLine('SGLang', version, table, args),
  };
}

function launch(request: LaunchRequest, options: SglangOptions): Launch {
  const flags = toWords({
    '--model-path': request.model,
    '--served-model-name': request.servedModelName,
    '--host': '0.0.0.0',
    '--port': options.port ?? sglang.defaultPort,
    '--revision': request.revision,
    '--tp-size': request.tensorParallel > 1 ? request.tensorParallel : undefined,
    '--pp-size': request.pipelineParallel > 1 ? request.pipelineParallel : undefined,
    '--nnodes': request.node?.count,
    '--node-rank': request.node?.index,
    '--dist-init-addr': request.node === undefined ? undefined : `${request.node.leaderAddress}:${RENDEZVOUS_PORT}`,
    '--context-length': options.maxModelLen,
    '--max-running-requests': options.maxRunningRequests,
    '--chunked-prefill-size': options.chunkedPrefillSize,
    '--mem-fraction-static': options.memFractionStatic,
    '--page-size': options.pageSize,
    '--dtype': options.dtype,
    '--kv-cache-dtype': options.kvCacheDtype,
    '--quantization': options.quantization,
    '--tool-call-parser': options.toolCallParser,
    '--reasoning-parser': options.reasoningParser,
    '--trust-remote-code': options.trustRemoteCode === true ? true : undefined,
    // The router learns from usage what was cached; the autoscaler and the router read the metrics page.
    '--enable-cache-report': true,
    [sglang.metricsFlag!]: true,
  });
  return { command: ['python3', '-m', 'sglang.launch_server'], args: [...flags, ...(options.extraArgs ?? [])] };
}
