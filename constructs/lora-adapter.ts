import { engineTable } from '../src/catalog/engines/engine-table';
import type { Finding } from '../src/errors';
import { commandLineOf } from '../src/expand/command-line';
import type { Engine } from './engine/engine';
import type { Launch } from './engine/engine-spec';
import type { ModelSource } from './model-source';

export interface LoraAdapterOptions {
  /** Rank of the adapter. @default 16, the engines' own */
  readonly rank?: number;
}

/**
 * A low-rank adapter of a model, served under a name of its own beside it.
 *
 * @example
 * new ModelBooster(models, 'assistant', {
 *   source: ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', { revision: '0e9e39f249a16976918f6564b8830bc894c89659' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   adapters: [LoraAdapter.of('assistant-bank', ModelSource.huggingFace('example-org/bank-lora'), { rank: 32 })],
 *   pools: { l40s: { accelerator: Accelerator.L40S_48GB } },
 * });
 */
export class LoraAdapter {
  /**
   * @param name what clients ask for; letters, digits, `.`, `_`, `-`, `:` and `/`.
   * @param source where its files are.
   * @throws RangeError when `name` has other characters or the rank is no whole number above 0.
   */
  static of(name: string, source: ModelSource, options: LoraAdapterOptions = {}): LoraAdapter {
    const { rank = DEFAULT_RANK } = options;
    if (!/^[\w.:/-]+$/.test(name)) throw new RangeError(`LoraAdapter.of('${name}'): use letters, digits and . _ - : /`);
    if (!Number.isInteger(rank) || rank < 1)
      throw new RangeError(`LoraAdapter.of('${name}'): rank ${rank} is no whole number ≥ 1`);
    return new LoraAdapter(name, source, rank);
  }

  private constructor(
    readonly name: string,
    readonly source: ModelSource,
    readonly rank: number,
  ) {}
}

/** Rank of both engines when they are told none. */
const DEFAULT_RANK = 16;
/** Adapters that are kept in GPU memory together unless somebody says otherwise: SGLang's own default. */
const DEFAULT_RESIDENT = 8;

/** An adapter and where an engine finds it. */
export interface PlacedAdapter {
  readonly name: string;
  /** Hub name or folder in the pod. */
  readonly path: string;
  readonly rank: number;
}

/** `engine`, started with `adapters`. */
export function engineWithAdapters(engine: Engine, adapters: readonly PlacedAdapter[], maxLoras: number | undefined): Engine {
  if (adapters.length === 0) return engine;
  const resident = maxLoras ?? Math.min(adapters.length, DEFAULT_RESIDENT);
  return {
    ...engine,
    launch(request) {
      const launch = engine.launch(request);
      const words = adapterWords(launch, adapters, resident, engine.release?.version);
      return { ...launch, args: [...launch.args, ...words] };
    },
    check: (launch) => [...engine.check(launch), ...adapterFindings(launch, engine, adapters)],
  };
}

/** Words that load the adapters; none where the command line is not that of an engine whose flags are known. */
function adapterWords(launch: Launch, adapters: readonly PlacedAdapter[], resident: number, version?: string): readonly string[] {
  const engine = engineOf(launch);
  if (engine === undefined) return [];
  const rank = Math.max(...adapters.map((adapter) => adapter.rank));
  const modules = adapters.map(({ name, path }) => `${name}=${path}`);
  return engine === 'vllm'
    ? [
        ...['--enable-lora', '--lora-modules', ...modules, '--max-loras', String(resident)],
        ...['--max-lora-rank', String(allowedRank(rank, version) ?? rank)],
      ]
    : [
        ...['--enable-lora', '--lora-paths', ...modules, '--max-loras-per-batch', String(resident)],
        ...['--max-lora-rank', String(rank)],
      ];
}

function engineOf({ command, args }: Launch): 'vllm' | 'sglang' | undefined {
  const line = commandLineOf({ name: 'engine', ...(command === undefined ? {} : { command }), args });
  return line.kind === 'engine' ? line.engine : undefined;
}

/** The smallest rank that vLLM takes and that holds `rank`; undefined when there is none. */
function allowedRank(rank: number, version = ''): number | undefined {
  const choices = engineTable('vllm', version).flags.get('--max-lora-rank')?.choices ?? [];
  return choices
    .map(Number)
    .filter((choice) => choice >= rank)
    .sort((a, b) => a - b)[0];
}

function adapterFindings(launch: Launch, { name, release }: Engine, adapters: readonly PlacedAdapter[]): readonly Finding[] {
  const engine = engineOf(launch);
  if (engine === undefined) {
    return [
      {
        code: 'lora/own-flags',
        severity: 'info',
        field: 'adapters',
        message: `${name} is told nothing about ${adapters.map((adapter) => adapter.name).join(', ')}: its flags are not known`,
        remedy: 'load them in its argv',
      },
    ];
  }
  const widest = adapters.reduce((most, adapter) => (adapter.rank > most.rank ? adapter : most));
  if (engine === 'sglang' || allowedRank(widest.rank, release?.version) !== undefined) return [];
  return [
    {
      code: 'lora/rank',
      severity: 'error',
      field: 'adapters',
      message: `${widest.name} has rank ${widest.rank}, more than ${name} takes`,
      remedy: 'serve it merged into the model, or train it with a lower rank',
    },
  ];
}
