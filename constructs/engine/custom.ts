import type { EngineMetrics, EngineSpec } from './engine-spec';

/** Any OpenAI-compatible server. */
export interface CustomEngineOptions {
  /** Container image. */
  readonly image: string;
  /**
   * Words of the command line. `{model}`, `{name}` (the served name) and `{tensorParallel}` are replaced inside each word, and where a
   * replica has several pods also `{nodes}`, `{nodeIndex}` and `{leaderAddress}`. `{role}` is `prefill` or `decode` in a PDGroup, else
   * `both`.
   *
   * @default the image's own entry point
   */
  readonly argv?: readonly string[];
  /** Port of the HTTP server. */
  readonly port: number;
  /** Path that answers 200 when the model is loaded. @default '/health' */
  readonly healthPath?: string;
  /** Path of the Prometheus metrics. @default '/metrics' */
  readonly metricsPath?: string;
  /** Gauges by which it may be scaled. @default none */
  readonly metrics?: EngineMetrics;
  /** Whose dialect and metric names the server imitates. @default 'vLLM' */
  readonly imitates?: 'vLLM' | 'SGLang';
  /** Whether it finishes its streams after SIGTERM. @default false: the pod waits before it */
  readonly finishesStreams?: boolean;
}

export function customSpec(options: CustomEngineOptions): EngineSpec {
  return {
    name: `the custom engine ${options.image}`,
    apiName: options.imitates ?? 'vLLM',
    image: options.image,
    port: options.port,
    healthPath: options.healthPath ?? '/health',
    metricsPath: options.metricsPath ?? '/metrics',
    metrics: options.metrics ?? {},
    finishesStreams: options.finishesStreams ?? false,
    launch({ model, servedModelName, tensorParallel, node, role }) {
      const values: Readonly<Record<string, string>> = {
        model,
        name: servedModelName,
        tensorParallel: String(tensorParallel),
        nodes: String(node?.count ?? 1),
        nodeIndex: node?.index ?? '0',
        leaderAddress: node?.leaderAddress ?? 'localhost',
        role: role ?? 'both',
      };
      return {
        args: (options.argv ?? []).map((word) =>
          word.replace(/\{(model|name|tensorParallel|nodes|nodeIndex|leaderAddress|role)\}/g, (_, key: string) => values[key]!),
        ),
      };
    },
    check: () => [],
  };
}
