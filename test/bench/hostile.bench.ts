/**
 * Ten thousand random and hostile requests against a router over sockets: truncated JSON, deep nesting, duplicate and escaped keys, huge
 * numbers, lone surrogates, smuggling by header, path tricks, names of 100,000 characters, slow bodies. Fails on a 500, a hang, a
 * crash, and on a forbidden path, member or header or another tenant's cache at an engine, with the seed and the request.
 *
 * Run: npx tsx test/bench/hostile.bench.ts [--requests 10000] [--seed N]
 */
import { parseArgs } from 'node:util';
import { runHostile } from '../helpers/hostile-run';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' }, seed: { type: 'string' } } });
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  process.stdout.write(`seed ${seed}\n`);
  const { requests, seconds, statuses, dispatched, salted } = await runHostile(Number(values.requests), seed);
  for (const [kind, counts] of Object.entries(statuses)) {
    const text = Object.entries(counts).map(([status, count]) => `${status === '0' ? 'closed' : status} ${count}`);
    process.stdout.write(`${kind.padEnd(20)} ${text.join('  ')}\n`);
  }
  process.stdout.write(
    `${requests} requests in ${seconds.toFixed(1)} s, ${dispatched} of them reached an engine, ${salted} in the cache of their own tenant; no 500, no hang\n`,
  );
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
