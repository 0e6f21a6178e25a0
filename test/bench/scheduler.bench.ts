/**
 * Time of the router's decisions: hashing a prompt, looking it up in the prefix index, recording it, and a whole decision.
 * Fails when a lookup of a 128k-token prompt takes more than 100 µs at the 99th percentile over 8 pods, when hashing falls below 1 GB/s,
 * or when half of the decisions over 500 pods with a 32k-token prompt take more than 1 ms.
 *
 * Run: npx tsx test/bench/scheduler.bench.ts
 */
import { seededRandom } from '../../runtime/lib/random';
import { wallClock } from '../../runtime/lib/wall-clock';
import { BlockHasher } from '../../runtime/router/cache/block-hashes';
import { PrefixIndex } from '../../runtime/router/cache/prefix-index';
import type { SchedulingRequest } from '../../runtime/router/scheduling/attempts';
import { createScheduling } from '../../runtime/router/scheduling/scheduling';
import { FakeRouterCluster, modelServerOf, podOf } from '../helpers/router-cluster';

const MOST_LOOKUP_MICROS = 100;
const LEAST_HASH_BYTES_PER_SECOND = 1e9;
const MOST_DECISION_MICROS = 1000;
const MOST_PODS = 500;

interface Measured {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

function measure(rounds: number, run: (round: number) => void): Measured {
  for (let i = 0; i < Math.min(rounds, 200); i++) run(i);
  const samples = Float64Array.from({ length: rounds }, (_, i) => {
    const started = performance.now();
    run(i);
    return (performance.now() - started) * 1000;
  }).sort();
  return { p50Micros: samples[Math.floor(rounds * 0.5)]!, p99Micros: samples[Math.floor(rounds * 0.99)]! };
}

function report(what: string, { p50Micros, p99Micros }: Measured, more = ''): void {
  process.stdout.write(
    `${what.padEnd(58)} p50 ${p50Micros.toFixed(1).padStart(8)} µs   p99 ${p99Micros.toFixed(1).padStart(8)} µs ${more}\n`,
  );
}

function text(bytes: number, seed: number): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length: bytes }, () => 97 + Math.floor(random.next() * 26));
}

async function main(): Promise<boolean> {
  const hasher = new BlockHasher();
  const failures: string[] = [];

  for (const bytes of [1024, 16_384, 524_288, 2_097_152]) {
    const spans = [text(bytes, bytes)];
    const measured = measure(2000, () => hasher.hash({ model: 'm' }, spans));
    const bytesPerSecond = bytes / (measured.p50Micros / 1e6);
    report(`hash of a prompt of ${bytes} bytes`, measured, `${(bytesPerSecond / 1e9).toFixed(2)} GB/s`);
    if (bytes >= 524_288 && bytesPerSecond < LEAST_HASH_BYTES_PER_SECOND) failures.push(`hashing ${bytes} bytes is below 1 GB/s`);
  }

  const longPrompt = text(524_288, 1);
  const long = hasher.hash({ model: 'm' }, [longPrompt]);
  for (const pods of [8, 300]) {
    const index = new PrefixIndex(256 * 2 ** 20);
    const slots = Array.from({ length: pods }, (_, slot) => slot);
    for (const slot of slots) {
      index.setShare(slot, 4e6);
      // Each pod holds a part of the long prompt and three megabytes of others'.
      index
        .reserve(hasher.hash({ model: 'm' }, [longPrompt.subarray(0, (longPrompt.length * (slot + 1)) / pods)]), slot)
        .confirm();
      for (let i = 0; i < 24; i++) index.reserve(hasher.hash({ model: 'm' }, [text(131_072, 1000 * slot + i)]), slot).confirm();
    }
    const { blocks } = index.stats();
    const out = new Float64Array(pods);
    const lookup = measure(2000, () => index.lookup(long, slots, out));
    report(`lookup of 128k tokens over ${pods} pods, ${blocks} blocks`, lookup);
    if (pods === 8 && lookup.p99Micros > MOST_LOOKUP_MICROS) failures.push(`a lookup takes ${lookup.p99Micros.toFixed(0)} µs`);
    report(
      `recording of 128k tokens at one of ${pods} pods`,
      measure(500, (i) => index.reserve(long, i % pods).confirm()),
    );
  }

  for (const [pods, bytes] of [
    [8, 1024],
    [8, 16_384],
    [300, 16_384],
    [MOST_PODS, 131_072],
  ] as const) {
    const cluster = new FakeRouterCluster().put(modelServerOf('a'), ...Array.from({ length: pods }, (_, i) => podOf('a', i)));
    const scheduling = await createScheduling({
      cluster,
      clock: wallClock(),
      random: seededRandom(1),
      config: {},
      fetchMetrics: () => Promise.reject(new Error('not measured')),
    });
    const prompts = Array.from({ length: 64 }, (_, i) => text(bytes, i));
    const decision = measure(5000, (i) => {
      const request: SchedulingRequest = {
        modelServer: 'default/a',
        upstreamModel: 'm',
        promptSpans: [prompts[i % prompts.length]!],
        promptTokens: bytes / 4,
        streams: true,
      };
      const next = scheduling.attempts.next(request, new Set());
      if (next.kind === 'none') throw new Error(next.message);
      next.attempt.firstToken();
      next.attempt.settle({ kind: 'completed' });
    });
    report(`decision, first token and end, ${bytes} bytes over ${pods} pods`, decision);
    if (pods === MOST_PODS && decision.p50Micros > MOST_DECISION_MICROS) {
      failures.push(`a decision over ${pods} pods takes ${decision.p50Micros.toFixed(0)} µs`);
    }
    await scheduling.close();
  }

  for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
  return failures.length === 0;
}

void main().then((isGood) => {
  process.exitCode = isGood ? 0 : 1;
});
