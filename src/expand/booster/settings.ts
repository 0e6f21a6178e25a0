import type { BoosterBackend } from '../../api/model-booster';

/** What variables of a backend tell the controller itself, besides the containers. */
export interface BoosterSettings {
  /** Port of the runtime container. */
  readonly runtimePort: number;
  /** Where the runtime container finds the engine. */
  readonly engineUrl: string;
  readonly metricsPath: string;
  /** Whether the engine's command installs no transfer library first. */
  readonly skipsInstall: boolean;
}

const RUNTIME_PORT = 8100;
/** What Go's ParseBool takes for true. */
const TRUE_WORDS: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Reads the settings out of `env`; a value that cannot be read counts as its default. */
export function boosterSettings({ env = [] }: BoosterBackend, enginePort: number): BoosterSettings {
  const written = (name: string): string | undefined => {
    const variable = env.find((candidate) => candidate.name === name);
    return variable === undefined ? undefined : (variable.value ?? '');
  };
  const port = written('RUNTIME_PORT');
  return {
    runtimePort: port !== undefined && /^[+-]?\d+$/.test(port) ? Number(port) : RUNTIME_PORT,
    engineUrl: written('RUNTIME_URL') ?? `http://localhost:${enginePort}`,
    metricsPath: written('RUNTIME_METRICS_PATH') ?? '/metrics',
    skipsInstall: TRUE_WORDS.has(written('KTHENA_SKIP_ENGINE_DEPENDENCY_INSTALL') ?? ''),
  };
}
