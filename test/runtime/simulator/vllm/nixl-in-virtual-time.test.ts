import { seededRandom } from '../../../../runtime/lib/random';
import { EngineCore, type EngineOutcome, MemoryFabric, VirtualClock } from '../../../../runtime/simulator/index';
import type { KvHandOff } from '../../../../runtime/simulator/kv/kv-hand-off';
import { NixlConnector } from '../../../../runtime/simulator/vllm/nixl-connector';
import { requestOf, SMALL_CORE } from '../../../helpers/engine-load';
import { NIXL } from '../../../helpers/kv-plans';
import { PLAN } from '../../../helpers/simulated-engine';

const PROMPT = 10;

/** Two engines that know each other by address and nothing else. */
class Pair {
  readonly clock = new VirtualClock();
  readonly fabric = new MemoryFabric(this.clock);
  readonly prefill = this.core();
  readonly decode = this.core();
  private requests = 0;
  prefillSide!: NixlConnector;
  decodeSide!: NixlConnector;

  private core(): EngineCore {
    return new EngineCore({ ...SMALL_CORE, clock: this.clock });
  }

  async connect(host: string, change: object = {}, version = '0.32.0'): Promise<NixlConnector> {
    return NixlConnector.start({
      plan: { ...PLAN, version },
      transfer: { ...NIXL, ...change } as Extract<typeof NIXL, { connector: 'nixl' }>,
      address: { host, port: 5600 },
      clock: this.clock,
      random: seededRandom(host.length),
      fabric: this.fabric,
      // 10 tokens take 100 ms.
      link: { bytesPerToken: 1e4, gigabytesPerSecond: 1e-3 },
      crash: () => undefined,
    });
  }

  async start(change: object = {}, version?: string): Promise<this> {
    this.prefillSide = await this.connect('prefill');
    this.decodeSide = await this.connect('decode-', change, version);
    return this;
  }

  /** Runs one request with what a connector makes of its parameters. */
  serve(
    side: NixlConnector,
    core: EngineCore,
    params: object,
    outputTokens: number,
    prefix = 0,
    id = `cmpl-${this.requests++}`,
  ): { handOff: KvHandOff; ended: EngineOutcome[] } {
    const prepared = side.prepare(params as Record<string, unknown>, {
      id,
      promptIds: Array.from({ length: PROMPT }, (_, i) => i),
      blockSize: SMALL_CORE.blockSize,
      namespace: {},
    });
    if (prepared.kind !== 'hand-off') throw new Error(prepared.kind);
    const { handOff } = prepared;
    const ended: EngineOutcome[] = [];
    const request = requestOf({ atMs: 0, promptTokens: PROMPT, outputTokens, prefix }, prefix, { tokens: [] });
    const start = (): unknown =>
      core.submit({
        ...request,
        onToken: () => undefined,
        ...(handOff.retainsBlocks === true ? { retainsBlocks: true } : {}),
        ...(handOff.remoteKv === undefined ? {} : { remoteKv: handOff.remoteKv }),
        onEnd(outcome) {
          if (outcome.kind === 'finished' && handOff.finished !== undefined) handOff.finished(outcome, () => ended.push(outcome));
          else ended.push(outcome);
        },
      });
    if (handOff.whenReady === undefined) start();
    else handOff.whenReady(start as () => void);
    return { handOff, ended };
  }

  /** @returns what prefill tells of its blocks, in the instant it is done. */
  prefilled(): object {
    const { handOff, ended } = this.serve(this.prefillSide, this.prefill, { do_remote_decode: true }, 1);
    while (ended.length === 0) this.clock.step();
    return handOff.params!()!;
  }
}

describe('a hand-off over NIXL', () => {
  it('costs prefill, the transfer and one step for the first token, and then frees the blocks of prefill', async () => {
    const pair = await new Pair().start();
    const params = pair.prefilled();
    const prefilledAt = pair.clock.monotonic();
    expect(prefilledAt).toBe(4 + 0.25 * PROMPT);
    expect(pair.prefill.stats()).toMatchObject({ retainedBlocks: 3, usedBlocks: 3, running: 0 });

    const { ended } = pair.serve(pair.decodeSide, pair.decode, params, 3);
    pair.clock.advance(50);
    expect(pair.decode.stats()).toMatchObject({
      remoteLoads: { wanted: 0, underway: 1, arrived: 0 },
      usedBlocks: 3,
      waiting: 1,
      running: 0,
    });
    pair.clock.advance(200);
    // One token is computed of nine in the cache, then two are decoded.
    const first = 4 + 0.25 + 0.001 * 9;
    const [second, third] = [10, 11].map((kv) => 4 + 0.5 + 0.001 * kv);
    expect(ended[0]!.atMs - prefilledAt).toBeCloseTo(100 + first + second! + third!, 6);
    expect(pair.prefill.stats()).toMatchObject({ retainedBlocks: 0, usedBlocks: 0 });
    expect(pair.prefillSide.stats()).toEqual({ held: 0, offered: 1, taken: 1, expired: 0, leakedBlocks: 0, lateReads: 0 });
    expect(pair.decode.stats()).toMatchObject({ arrivedTokens: PROMPT, prefilledTokens: 1, usedBlocks: 0 });
  });

  it('fetches only what decode has not cached itself', async () => {
    const pair = await new Pair().start();
    pair.serve(pair.decodeSide, pair.decode, pair.prefilled(), 2);
    pair.clock.advance(1000);
    const again = pair.prefilled();
    const from = pair.clock.monotonic();
    const { ended } = pair.serve(pair.decodeSide, pair.decode, again, 1);
    pair.clock.advance(1000);
    // Two of three blocks are there, two tokens are left to travel.
    expect(pair.decode.stats()).toMatchObject({ cachedTokens: 8, arrivedTokens: PROMPT + 2 });
    expect(ended[0]!.atMs - from).toBeCloseTo(20 + 4 + 0.25 + 0.001 * 9, 6);
  });

  it('keeps the lease alive while decode has no room, however long, and no longer', async () => {
    const pair = await new Pair().start();
    const params = pair.prefilled();
    // Everything of decode is taken for two minutes.
    const blocker = pair.decode.submit({
      ...requestOf({ atMs: 0, promptTokens: 150, outputTokens: 1, prefix: 7 }, 7, { tokens: [] }),
      onToken: () => undefined,
      onEnd: () => undefined,
    });
    pair.decode.freeze();
    const { ended } = pair.serve(pair.decodeSide, pair.decode, params, 1);
    pair.clock.advance(120_000);
    expect(pair.prefillSide.stats()).toMatchObject({ held: 1, expired: 0 });
    pair.decode.resume();
    blocker.abort();
    pair.clock.advance(10_000);
    expect(ended[0]!.kind).toBe('finished');
    expect(pair.prefillSide.stats()).toMatchObject({ held: 0, taken: 1, expired: 0 });
  });

  it('expires 30 s after a router forgot it, to the millisecond', async () => {
    const pair = await new Pair().start();
    pair.prefilled();
    pair.clock.advance(29_999);
    expect(pair.prefill.stats().retainedBlocks).toBe(3);
    pair.clock.advance(1);
    expect(pair.prefill.stats()).toMatchObject({ retainedBlocks: 0, usedBlocks: 0 });
    expect(pair.prefillSide.stats()).toMatchObject({ expired: 1, leakedBlocks: 3 });
  });

  it('holds blocks back from other requests until then', async () => {
    const pair = await new Pair().start();
    for (let prefix = 0; prefix < 13; prefix++) {
      pair.serve(pair.prefillSide, pair.prefill, { do_remote_decode: true }, 1, prefix);
      pair.clock.advance(100);
    }
    expect(pair.prefill.stats()).toMatchObject({ retainedBlocks: 39, totalBlocks: 40 });
    const { ended } = pair.serve(pair.prefillSide, pair.prefill, { do_remote_decode: true }, 1, 13);
    pair.clock.advance(20_000);
    expect([ended.length, pair.prefill.stats().waiting]).toEqual([0, 1]);
    pair.clock.advance(10_000);
    // The first lease ended 30 s after its prefill of 6.5 ms.
    expect(ended[0]!.atMs).toBe(6.5 + 30_000 + 6.5);
  });

  it('gives blocks back whose id is used again', async () => {
    const pair = await new Pair().start();
    for (let prefix = 0; prefix < 3; prefix++) {
      pair.serve(pair.prefillSide, pair.prefill, { do_remote_decode: true }, 1, prefix, 'the same');
      pair.clock.advance(100);
    }
    expect(pair.prefillSide.stats()).toMatchObject({ offered: 3, held: 1 });
    expect(pair.prefill.stats()).toMatchObject({ retainedBlocks: 3, usedBlocks: 3 });
  });

  it.each([
    ['prefill ends in mid-transfer', (pair: Pair) => pair.clock.after(50, () => pair.prefillSide.close()), {}, undefined],
    ['the engines are of unlike versions', () => undefined, {}, '0.31.0'],
  ])('fails five seconds after it began when %s', async (_name, fault, change, version) => {
    const pair = await new Pair().start(change, version);
    const params = pair.prefilled();
    const from = pair.clock.monotonic();
    const { ended } = pair.serve(pair.decodeSide, pair.decode, params, 3);
    fault(pair);
    pair.clock.advance(20_000);
    expect(ended).toMatchObject([{ kind: 'loadFailed', generatedTokens: 0 }]);
    expect(ended[0]!.atMs - from).toBe(5000);
    expect(pair.decode.stats()).toMatchObject({ loadFailed: 1, loadFailedTokens: PROMPT, usedBlocks: 0, arrivedTokens: 0 });
    expect(pair.decodeSide.meter.failed).toBe(1);
  });

  it('gives decode its blocks back when the client leaves in mid-transfer; those of prefill wait for the lease', async () => {
    const pair = await new Pair().start();
    const params = pair.prefilled();
    const { handOff } = pair.serve(pair.decodeSide, pair.decode, params, 3);
    pair.clock.advance(50);
    handOff.cancel();
    pair.decode.kill();
    expect(pair.decode.stats()).toMatchObject({ usedBlocks: 0, waiting: 0 });
    pair.clock.advance(40_000);
    expect(pair.prefillSide.stats()).toMatchObject({ taken: 0, expired: 1, held: 0 });
  });

  it('gives the same trace twice', async () => {
    const run = async (): Promise<unknown> => {
      const pair = await new Pair().start();
      const ended = [1, 2, 3].map(() => pair.serve(pair.decodeSide, pair.decode, pair.prefilled(), 3).ended);
      pair.clock.runToEnd(10_000);
      return ended;
    };
    expect(await run()).toEqual(await run());
  });
});
