/** Bytes of prompt per token before anything was seen: English text under a byte-pair vocabulary. */
const FIRST_BYTES_PER_TOKEN = 4;
const NEWEST_WEIGHT = 0.05;
/** Densities are told in steps of this factor, so that pod shares do not move with every answer. */
const STEP = 1.1;
/** Beyond these a count must be of something else than the prompt's text, such as images. */
const LEAST = 0.5;
const MOST = 16;

/** How many bytes of prompt one token stands for, by model: turns a KV cache's tokens into the bytes that the index counts in. */
export class TextDensity {
  private readonly byModel = new Map<string, number>();

  bytesPerToken(model: string): number {
    const average = this.byModel.get(model);
    return average === undefined ? FIRST_BYTES_PER_TOKEN : STEP ** Math.round(Math.log(average) / Math.log(STEP));
  }

  observe(model: string, bytes: number, tokens: number): void {
    const density = bytes / tokens;
    if (!(density >= LEAST && density <= MOST)) return;
    const before = this.byModel.get(model) ?? FIRST_BYTES_PER_TOKEN;
    this.byModel.set(model, before + NEWEST_WEIGHT * (density - before));
  }
}
