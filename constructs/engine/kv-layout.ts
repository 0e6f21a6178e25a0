import type { EngineTable } from '../../src/catalog/engines/engine';
import { FlagReader, parseEngineFlags } from '../../src/expand/engine-flags';

/** What two engines must have in common, besides model and version, to read each other's KV cache. Values as on the command line. */
export interface KvLayout {
  /** Tokens per block; undefined: the engine's default, which it takes from its attention backend. */
  readonly blockSize: string | undefined;
  /** Type of weights and activations. */
  readonly dtype: string;
  /** Type of cache elements. */
  readonly cacheDtype: string;
}

/** The layout that a command line asks for, `extraArgs` included. */
export function kvLayoutOf(args: readonly string[], table: EngineTable): KvLayout {
  const flags = new FlagReader(parseEngineFlags(args, table.flags));
  return {
    blockSize: flags.text('--block-size', '--page-size'),
    dtype: flags.text('--dtype') ?? 'auto',
    cacheDtype: flags.text('--kv-cache-dtype') ?? 'auto',
  };
}
