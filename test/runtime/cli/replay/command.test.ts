import { join } from 'node:path';
import { runCli } from '../../../helpers/run-cli';

const TRACE = join(__dirname, '../../../fixtures/traces/mooncake-conversation.jsonl.gz');
const replay = (...flags: readonly string[]) => runCli('replay', '--trace', TRACE, '--limit', '60', '--jitter', ...flags);

describe('kvasir replay', () => {
  it('prints a table, and with --json one document that is the same to the byte for the same seed', async () => {
    const run = await replay('--policies', 'expected-latency,random', '--json', '--seed', '4');
    expect(run.code).toBe(0);
    expect(run.lines[0]).toMatch(/^60 requests to 8 × meta-llama\/Llama-3\.1-8B-Instruct on 1 × H100-SXM-80GB, \d+ KV tokens/);
    expect(run.lines[1]).toMatch(/^POLICY +TTFT mean +p50 +p90 +p99 +ITL mean/);
    expect(run.lines.slice(2).map((line) => line.split(' ')[0])).toEqual(['expected-latency', 'random']);
    const document = JSON.parse(run.stdout);
    expect(document).toMatchObject({ workload: { requests: 60 }, fleet: { pods: 8 }, routers: 1, seed: 4, failed: [] });
    for (const policy of document.policies) {
      expect(policy).toMatchObject({
        requests: 60,
        errors: 0,
        ttftMs: { p90: expect.any(Number) },
        balance: expect.any(Number),
      });
    }
    expect((await replay('--policies', 'expected-latency,random', '--json', '--seed', '4')).stdout).toBe(run.stdout);
    expect((await replay('--policies', 'expected-latency,random', '--json', '--seed', '5')).stdout).not.toBe(run.stdout);
  });

  it('ends with 1 when a condition holds, and names it', async () => {
    const holds = 'expected-latency.ttftMs.p90 > 0.01 * random.ttftMs.p90';
    const run = await replay('--fail-if', 'random.errors > 0', '--fail-if', holds, '--json');
    expect(run.code).toBe(1);
    expect(run.lines.at(-1)).toBe(`failed: ${holds}`);
    expect(JSON.parse(run.stdout).failed).toEqual([holds]);
  });

  it('runs a closed loop over shared prefixes, with engine flags and a measured rate', async () => {
    const run = await runCli(
      ...['replay', '--shared-prefix', '8x4,1024,64,16', '--concurrency', '10', '--pods', '2', '--policies', 'random'],
      ...['--engine-args', '--block-size 32 --max-num-seqs 4', '--kv-tokens', '50000', '--prefill-rate', '9000', '--json'],
    );
    expect(run.code).toBe(0);
    const { fleet, workload, policies } = JSON.parse(run.stdout);
    expect(fleet).toMatchObject({ kvTokens: 50_000, blockSize: 32, prefillTokensPerSecond: 9000 });
    expect(workload).toEqual({ requests: 32, concurrency: 10 });
    expect(policies[0]).toMatchObject({ name: 'random', requests: 32, errors: 0 });
  });

  it.each([
    [['--policies', 'fastest'], 1, /no policy "fastest".*\[replay\/unknown-policy\]$/],
    [
      ['--fail-if', 'round-robin.errors > 0'],
      1,
      /names "round-robin", which is not replayed; add it to --policies \[replay\/fail-if\]$/,
    ],
    [['--fail-if', 'random > 0'], 2, /names no figure/],
    [['--replication', '5'], 1, /one router has nobody to tell; give --routers \[replay\/flags\]$/],
    [['--routers', '2', '--replication', '-1'], 2, /give milliseconds, from 0/],
    [['--rate', '3'], 1, /a trace has its own arrivals; use --speed \[replay\/flags\]$/],
    [['--shared-prefix', '2x2,1,1,1'], 1, /there must be one workload.*\[replay\/flags\]$/],
    [['--pods', '0'], 2, /whole number from 1 to 10000/],
    [
      ['--model', 'nobody/has-it'],
      1,
      /no model "nobody\/has-it"; use one of its size: .*Qwen\/Qwen3-8B.*\[replay\/unknown-model\]$/,
    ],
    [['--accelerator', 'L5'], 1, /no accelerator "L5"/],
  ])('answers %j with %i and one line', async (flags, code, line) => {
    const run = await replay(...flags);
    expect(run).toEqual({ code, stdout: '', lines: [expect.stringMatching(line)] });
  });

  it('asks for a workload, and for when to send generated requests', async () => {
    expect(await runCli('replay')).toMatchObject({
      code: 1,
      lines: [expect.stringContaining('give either --trace or --shared-prefix')],
    });
    const generated = await runCli('replay', '--shared-prefix', '2x2,1,1,1');
    expect(generated).toMatchObject({ code: 1, lines: [expect.stringContaining('give --concurrency, --rate or both')] });
    const jittered = await runCli('replay', '--shared-prefix', '2x2,1,1,1', '--concurrency', '1', '--jitter');
    expect(jittered).toMatchObject({ code: 1, lines: [expect.stringContaining('--jitter: only a trace has arrivals')] });
  });
});
