import type { BlockPool } from './block-pool';
import { knownTokens, type Sequence } from './sequence';

/** Limits of one step. */
export interface BatchLimits {
  readonly blockSize: number;
  readonly maxNumSeqs: number;
  readonly maxNumBatchedTokens: number;
  readonly maxLoras: number;
  readonly enablePrefixCaching: boolean;
}

/** What one step computes. */
export interface StepBatch {
  readonly sequences: readonly Sequence[];
  /** Uncached prompt tokens, and tokens computed again after a preemption. */
  readonly prefillTokens: number;
  readonly decodeSequences: number;
  /** Tokens of KV that exist before the step and are read by its sequences. */
  readonly kvTokens: number;
  /** Sequences that lost their blocks so that others could go on. */
  readonly preempted: readonly Sequence[];
  /** Sequences that are part of a step for the first time. */
  readonly admitted: readonly Sequence[];
  /** Sequences that have blocks for their remote KV and do not wait for blocks any more, but for the KV. */
  readonly loads: readonly Sequence[];
  /** Prompt tokens of `admitted` and `loads`, and those of them that were found in the prefix cache. */
  readonly cacheQueries: number;
  readonly cacheHits: number;
  /** Of `cacheHits`, tokens that a request of another tenant had put there. */
  readonly crossTenantHits: number;
}

/**
 * Chooses what the next step computes, as vLLM V1 does: a token budget goes to the running sequences in the order of their admission
 * (decodes, then the one whose prefill was cut), then to waiting ones whose prefill is cut to what is left. When no block is free for a
 * running sequence, the one admitted last is preempted: it loses its blocks and waits in front. A preemption stops admission for the step.
 */
export class BatchScheduler {
  /** In order of admission. */
  readonly running: Sequence[] = [];
  /** In order of arrival, preempted ones in front. */
  readonly waiting: Sequence[] = [];
  /** Sequences whose remote KV is under way. */
  readonly loading = new Set<Sequence>();
  private readonly tenants = new Map<string, number>();
  /** Waiting sequences that the last step passed over because all adapter slots were taken. */
  deferred = 0;

  constructor(
    private readonly pool: BlockPool,
    private readonly limits: BatchLimits,
  ) {}

  /** Moves sequences between the queues, takes blocks, and sets `scheduledTokens` of those in the step. Empty when nobody waits or runs. */
  next(): StepBatch {
    const sequences: Sequence[] = [];
    const preempted: Sequence[] = [];
    const admitted: Sequence[] = [];
    const loads: Sequence[] = [];
    let budget = this.limits.maxNumBatchedTokens;
    let prefillTokens = 0;
    let decodeSequences = 0;
    let kvTokens = 0;
    let cacheQueries = 0;
    let cacheHits = 0;
    let crossTenantHits = 0;

    const include = (sequence: Sequence, tokens: number): void => {
      sequence.scheduledTokens = tokens;
      sequences.push(sequence);
      budget -= tokens;
      kvTokens += sequence.computedTokens;
      if (tokens === 1 && sequence.generatedTokens > 0) decodeSequences += 1;
      else prefillTokens += tokens;
    };

    for (let i = 0; i < this.running.length && budget > 0; i++) {
      const sequence = this.running[i]!;
      const tokens = Math.min(knownTokens(sequence) - sequence.computedTokens, budget);
      if (!this.growOrPreempt(sequence, tokens, preempted)) break;
      include(sequence, tokens);
    }

    this.deferred = 0;
    for (
      let i = 0;
      preempted.length === 0 && budget > 0 && i < this.waiting.length && this.running.length < this.limits.maxNumSeqs;
    ) {
      const sequence = this.waiting[i]!;
      if (!this.hasAdapterSlot(sequence)) {
        this.deferred += 1;
        i += 1;
        continue;
      }
      if (sequence.load === 'arrived') {
        const missing = Math.min(knownTokens(sequence) - sequence.computedTokens, budget);
        if (!this.grow(sequence, missing)) break;
        this.run(sequence, i);
        sequence.load = 'none';
        admitted.push(sequence);
        include(sequence, missing);
        continue;
      }
      const hits = this.lookUp(sequence);
      const hitTokens = hits.length * this.limits.blockSize;
      if (sequence.load === 'wanted') {
        const there = Math.min(sequence.request.remoteKv!.tokens(hitTokens), sequence.request.promptTokens);
        if (there > hitTokens) {
          if (!this.reserve(sequence, hits, there - hitTokens)) break;
          this.waiting.splice(i, 1);
          this.loading.add(sequence);
          sequence.load = 'underway';
          sequence.remoteTokens = there - hitTokens;
          this.noteHits(sequence, hits);
          cacheQueries += knownTokens(sequence);
          cacheHits += hitTokens;
          crossTenantHits += sequence.foreignTokens;
          loads.push(sequence);
          continue;
        }
        sequence.load = 'none';
      }
      const tokens = Math.min(knownTokens(sequence) - hitTokens, budget);
      if (!this.admit(sequence, hits, tokens)) break;
      this.run(sequence, i);
      if (!sequence.wasScheduled) {
        this.noteHits(sequence, hits);
        cacheQueries += knownTokens(sequence);
        cacheHits += hitTokens;
        crossTenantHits += sequence.foreignTokens;
        admitted.push(sequence);
      } else if (sequence.generatedTokens === 0 && sequence.preemptions === 0) {
        admitted.push(sequence);
      }
      include(sequence, tokens);
    }
    return {
      sequences,
      prefillTokens,
      decodeSequences,
      kvTokens,
      preempted,
      admitted,
      loads,
      cacheQueries,
      cacheHits,
      crossTenantHits,
    };
  }

  /**
   * Steps in a row, `batch` being the first, that would all compute the same sequences, one token each, if nobody came or left in between:
   * until one of them has its last token or no block is free.
   */
  stepsAlike(batch: StepBatch): number {
    const { sequences } = batch;
    const isSteady = batch.prefillTokens === 0 && this.waiting.length === 0 && this.loading.size === 0;
    if (!isSteady || sequences.length === 0 || sequences.length < this.running.length) return 1;
    let steps = Number.POSITIVE_INFINITY;
    for (const { request, generatedTokens } of sequences) steps = Math.min(steps, request.outputTokens - generatedTokens);
    while (steps > 1 && this.blocksFor(sequences, steps) > this.pool.free) steps = Math.ceil(steps / 2);
    return this.blocksFor(sequences, steps) > this.pool.free ? 1 : steps;
  }

  /** Takes the blocks of further steps of a decoding sequence, which `stepsAlike` found to be free. */
  extend(sequence: Sequence, steps: number): void {
    if (!this.grow(sequence, steps)) throw new RangeError('the steps of a stride have no blocks');
  }

  private blocksFor(sequences: readonly Sequence[], steps: number): number {
    let missing = 0;
    for (const { computedTokens, blocks } of sequences) {
      missing += Math.ceil((computedTokens + steps) / this.limits.blockSize) - blocks.length;
    }
    return missing;
  }

  /** Remote KV is there, or is not coming and has to be computed: the sequence waits for a step again, in its place by arrival. */
  endLoad(sequence: Sequence, hasArrived: boolean): void {
    this.loading.delete(sequence);
    if (hasArrived) {
      sequence.load = 'arrived';
      sequence.computedTokens = Math.min(sequence.hitTokens + sequence.remoteTokens, knownTokens(sequence) - 1);
    } else {
      sequence.load = 'none';
      sequence.remoteTokens = 0;
      sequence.computedTokens = 0;
      this.dropBlocks(sequence);
    }
    const behind = this.waiting.findIndex(({ arrivedAtMs }) => arrivedAtMs > sequence.arrivedAtMs);
    this.waiting.splice(behind < 0 ? this.waiting.length : behind, 0, sequence);
  }

  /** Takes a sequence out of its queue; its blocks stay taken until `giveBack`. */
  retire(sequence: Sequence): void {
    this.loading.delete(sequence);
    for (const queue of [this.running, this.waiting]) {
      const at = queue.indexOf(sequence);
      if (at >= 0) queue.splice(at, 1);
    }
  }

  giveBack(blocks: readonly number[]): void {
    this.pool.release(blocks);
  }

  /** Takes a sequence out of its queue and gives its blocks back. */
  remove(sequence: Sequence): void {
    this.retire(sequence);
    this.dropBlocks(sequence);
  }

  private run(sequence: Sequence, waitingAt: number): void {
    this.waiting.splice(waitingAt, 1);
    this.running.push(sequence);
    sequence.state = 'running';
  }

  private noteHits(sequence: Sequence, hits: readonly number[]): void {
    sequence.hitTokens = hits.length * this.limits.blockSize;
    sequence.foreignTokens = this.foreignBlocks(sequence, hits) * this.limits.blockSize;
    sequence.wasScheduled = true;
  }

  private tenantOf({ request: { tenant } }: Sequence): number | undefined {
    if (tenant === undefined) return undefined;
    let number = this.tenants.get(tenant);
    if (number === undefined) {
      number = this.tenants.size;
      this.tenants.set(tenant, number);
    }
    return number;
  }

  private foreignBlocks(sequence: Sequence, hits: readonly number[]): number {
    const own = this.tenantOf(sequence);
    if (own === undefined) return 0;
    let foreign = 0;
    for (const block of hits) {
      const owner = this.pool.owner(block);
      if (owner >= 0 && owner !== own) foreign += 1;
    }
    return foreign;
  }

  private growOrPreempt(sequence: Sequence, tokens: number, preempted: Sequence[]): boolean {
    while (!this.grow(sequence, tokens)) {
      const victim = this.running.pop()!;
      this.dropBlocks(victim);
      victim.computedTokens = 0;
      victim.preemptions += 1;
      victim.state = 'waiting';
      this.waiting.unshift(victim);
      preempted.push(victim);
      if (victim === sequence) return false;
    }
    return true;
  }

  /** Takes the blocks that `tokens` more need, all or none. */
  private grow(sequence: Sequence, tokens: number): boolean {
    const { blockSize, enablePrefixCaching } = this.limits;
    const end = sequence.computedTokens + tokens;
    if (!this.allocate(sequence, end)) return false;
    const full = Math.floor(end / blockSize);
    if (enablePrefixCaching && sequence.cachedBlocks < full) {
      const owner = this.tenantOf(sequence);
      for (; sequence.cachedBlocks < full; sequence.cachedBlocks++) {
        this.pool.cache(sequence.blocks[sequence.cachedBlocks]!, sequence.request.blockKey(sequence.cachedBlocks), owner);
      }
    }
    return true;
  }

  /** Takes the blocks that the first `end` tokens need, all or none. */
  private allocate(sequence: Sequence, end: number): boolean {
    const missing = Math.ceil(end / this.limits.blockSize) - sequence.blocks.length;
    if (missing > this.pool.free) return false;
    for (let i = 0; i < missing; i++) sequence.blocks.push(this.pool.take());
    return true;
  }

  /** Blocks of the longest cached prefix. The last token is always computed, since its logits are needed. */
  private lookUp(sequence: Sequence): readonly number[] {
    const blocks: number[] = [];
    if (!this.limits.enablePrefixCaching) return blocks;
    const most = Math.floor((knownTokens(sequence) - 1) / this.limits.blockSize);
    for (let i = 0; i < most; i++) {
      const block = this.pool.find(sequence.request.blockKey(i));
      if (block < 0) break;
      blocks.push(block);
    }
    return blocks;
  }

  private admit(sequence: Sequence, hits: readonly number[], tokens: number): boolean {
    return this.shareHits(sequence, hits, tokens) && this.grow(sequence, tokens);
  }

  /** Takes blocks for KV that is still on its way, so that nobody finds it yet. */
  private reserve(sequence: Sequence, hits: readonly number[], tokens: number): boolean {
    return this.shareHits(sequence, hits, tokens) && this.allocate(sequence, sequence.computedTokens + tokens);
  }

  /** Makes cached blocks a sequence's own when there is room for `tokens` more. */
  private shareHits(sequence: Sequence, hits: readonly number[], tokens: number): boolean {
    const { blockSize } = this.limits;
    const needed = Math.ceil((hits.length * blockSize + tokens) / blockSize) - hits.length;
    let idleHits = 0;
    for (const block of hits) if (this.pool.references(block) === 0) idleHits += 1;
    if (needed + idleHits > this.pool.free) return false;
    for (const block of hits) this.pool.share(block);
    sequence.blocks = [...hits];
    sequence.cachedBlocks = hits.length;
    sequence.computedTokens = hits.length * blockSize;
    return true;
  }

  private hasAdapterSlot(sequence: Sequence): boolean {
    const { adapter } = sequence.request;
    if (adapter === undefined) return true;
    const taken = new Set<string>();
    for (const { request } of this.running) if (request.adapter !== undefined) taken.add(request.adapter);
    return taken.has(adapter) || taken.size < this.limits.maxLoras;
  }

  private dropBlocks(sequence: Sequence): void {
    this.pool.release(sequence.blocks);
    sequence.blocks = [];
    sequence.cachedBlocks = 0;
  }
}
