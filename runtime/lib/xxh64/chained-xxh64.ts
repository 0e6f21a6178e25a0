import { XXH64_MODULE } from './xxh64-module';

/** What is used of it; Node has it, its types do not. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly chain: (at: number, count: number, length: number) => void;
}

/** Where the hashes are, and where the text goes; as `xxh64.wat` has it. */
const HASHES_AT = 8;
const TEXT_AT = 64 * 1024;
const TEXT_BYTES = 64 * 1024;
const MAX_BLOCKS = (TEXT_AT - HASHES_AT) / 8;

/**
 * XXH64 of blocks of text, each seeded by the hash of the block before it: many in one call, without big integers. The text is put into
 * its memory first.
 */
export class ChainedXxh64 {
  /** Put the text of the next blocks here, from the start. */
  readonly text: Uint8Array;
  private readonly exports: Exports;
  private readonly memory: Uint32Array;

  constructor() {
    const module = new WebAssembly.Module(Buffer.from(XXH64_MODULE, 'base64'));
    this.exports = new WebAssembly.Instance(module).exports as Exports;
    const { buffer } = this.exports.memory;
    this.text = new Uint8Array(buffer, TEXT_AT, TEXT_BYTES);
    this.memory = new Uint32Array(buffer, 0, HASHES_AT / 4 + 2 * MAX_BLOCKS);
  }

  /** Begins a chain. @param low @param high words of the seed. */
  begin(low: number, high: number): void {
    this.memory[0] = low;
    this.memory[1] = high;
  }

  /**
   * Hashes blocks of the text, and goes on from the last one in the next call.
   *
   * @param count 0..8191 @param length of each in bytes; all must fit into `text`.
   * @param to where their hashes go: two words each, the low one first. @param at index there of the first word.
   */
  hash(count: number, length: number, to: Uint32Array, at: number): void {
    this.exports.chain(TEXT_AT, count, length);
    const first = HASHES_AT / 4;
    for (let word = 0; word < 2 * count; word++) to[at + word] = this.memory[first + word]!;
  }
}
