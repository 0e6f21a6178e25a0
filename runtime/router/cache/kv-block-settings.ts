/** How `kvcache-aware` asks which endpoints hold the blocks of a prompt. */
export interface KvBlockSettings {
  /** Tokens per block, as those who write the keys cut them. */
  readonly tokensPerBlock: number;
  /** Blocks that are looked up, from the first one on. */
  readonly maxBlocks: number;
  /** Port of `/tokenize`. @default the endpoint's own */
  readonly tokenizerPort: { readonly vLLM: number | undefined; readonly SGLang: number | undefined };
  /** How long a decision may wait for tokens and owners together. */
  readonly timeoutMs: number;
}

/** Kthena's defaults. */
const TOKENS_PER_BLOCK = 16;
const MAX_BLOCKS = 128;
/** Ours: Kthena waits for up to ten seconds. */
const TIMEOUT_MS = 50;

/** Settings from the plugin's arguments by lower-case name: Kthena's, and `timeoutMs`. A bad value is the default. */
export function kvBlockSettings(args: Readonly<Record<string, unknown>>): KvBlockSettings {
  return {
    tokensPerBlock: wholeOf(args.blocksizetohash) ?? TOKENS_PER_BLOCK,
    maxBlocks: wholeOf(args.maxblockstomatch) ?? MAX_BLOCKS,
    tokenizerPort: { vLLM: portOf(args.vllmtokenizerport), SGLang: portOf(args.sglangtokenizerport) },
    timeoutMs: wholeOf(args.timeoutms) ?? TIMEOUT_MS,
  };
}

function wholeOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

function portOf(value: unknown): number | undefined {
  const port = wholeOf(value);
  return port !== undefined && port < 65_536 ? port : undefined;
}
