import type { FlagTable } from './flag';
import type { MetricConcept, MetricName, MetricTable } from './metrics';

export type EngineName = 'vllm' | 'sglang';

/** What holds for all versions of an inference engine. */
export interface Engine {
  readonly name: EngineName;
  /** How `ModelServer.spec.inferenceEngine` calls it. */
  readonly apiName: 'vLLM' | 'SGLang';
  /** Port of the HTTP server unless a flag says otherwise. */
  readonly defaultPort: number;
  readonly healthPath: string;
  readonly metricsPath: string;
  /** Whether `/metrics` needs this flag. */
  readonly metricsFlag?: string;
  /** Published image repositories, without registry, the stock one first. */
  readonly imageRepositories: readonly string[];
  /** Python modules whose start is the server's. */
  readonly modules: readonly string[];
  /** Programs with the subcommand that starts the server. */
  readonly commands: readonly (readonly string[])[];
  /** All names of each metric, newest first. */
  readonly metrics: MetricTable;
  /** Recorded flag tables by version, oldest first. */
  readonly recordings: readonly { readonly version: string; readonly flags: () => FlagTable }[];
}

/** What the catalogue knows of one version of an engine. */
export interface EngineTable {
  readonly engine: Engine;
  /** The recorded version that the flags are of. */
  readonly version: string;
  /** Whether that is the version asked for; if not, it is the nearest older one, or the oldest. */
  readonly isExact: boolean;
  readonly flags: FlagTable;
  /** Metric names of the version asked for. */
  readonly metrics: Readonly<Partial<Record<MetricConcept, MetricName>>>;
}
