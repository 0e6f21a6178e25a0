import { type Command, InvalidArgumentError } from 'commander';
import { derivedModelShape, MODEL_SHAPES, modelShapeNamed } from '../../../src/catalog/models';
import { KvasirError } from '../../../src/errors';
import { seededRandom } from '../../lib/random';
import type { ExitStatus } from '../exit-status';
import { type Output, processOutput } from '../output';
import { parseSeed } from '../parse-number';
import { type FailIf, parseFailIf } from '../replay/fail-if';
import { FixedFleet, type FleetOptions } from '../replay/fixed-fleet';
import { policiesNamed } from '../replay/policies/policy-named';
import { DEFAULT_OBJECTIVES, replayPolicies } from '../replay/replay-policies';
import { replayTable } from '../replay/replay-table';
import { readTrace } from '../replay/workload/read-trace';
import { parseSharedPrefix, type SharedPrefix, sharedPrefixWorkload } from '../replay/workload/shared-prefix';
import { traceWorkload } from '../replay/workload/trace-workload';
import type { Workload } from '../replay/workload/workload';
import { reportLine } from '../report-line';

interface ReplayFlags {
  readonly trace?: string;
  readonly sharedPrefix?: SharedPrefix;
  readonly policies: string;
  readonly pods: number;
  readonly accelerator: string;
  readonly model: string;
  readonly gpus?: number;
  readonly engineArgs?: readonly string[];
  readonly kvTokens?: number;
  readonly prefillRate?: number;
  readonly concurrency?: number;
  readonly rate?: number;
  readonly speed?: number;
  readonly limit?: number;
  readonly jitter?: true;
  readonly routers: number;
  readonly replication?: number;
  readonly ttftSlo: number;
  readonly itlSlo: number;
  readonly seed: number;
  readonly failIf: readonly FailIf[];
  readonly json?: true;
}

/** `kvasir replay`: what a workload would see under each policy, by the router's own scheduler over simulated engines in virtual time. */
export function addReplayCommand(program: Command, exit: ExitStatus): void {
  program
    .command('replay')
    .description('compare scheduling policies over a trace or a generated workload, in virtual time')
    .option('--trace <file>', "a Mooncake trace (JSON lines, plain or gzip) or Kvasir's JSON access log")
    .option('--shared-prefix <shape>', 'groups of prompts that share a system prompt: 256x32,4096,256,128', parseSharedPrefix)
    .option(
      '--policies <names>',
      'policies or router configuration files, with commas; all for every one',
      'expected-latency,random',
    )
    .option('--pods <n>', 'replicas', whole(1, 10_000), 8)
    .option('--accelerator <name>', 'accelerator class of the catalogue', 'H100-SXM-80GB')
    .option('--model <name>', 'model of the catalogue', 'meta-llama/Llama-3.1-8B-Instruct')
    .option('--gpus <n>', 'accelerators per replica (default: the fewest that hold the model)', whole(1, 1024))
    .option('--engine-args <flags>', "further flags of the engines, as vLLM's: '--max-num-seqs 128'", words)
    .option('--kv-tokens <n>', 'tokens of KV cache per replica (default: what fits beside the weights)', whole(1, 1e9))
    .option('--prefill-rate <n>', 'measured prompt tokens per second of a replica (default: by the catalogue)', positive)
    .option('--concurrency <n>', 'most requests in flight; the rest waits at the client', whole(1, 1e6))
    .option('--rate <n>', 'requests per second of --shared-prefix, as a Poisson process (default: all at once)', positive)
    .option('--speed <n>', 'how many times as fast as the trace', positive)
    .option('--limit <n>', 'only the first n requests of the trace', whole(1, 1e9))
    .option('--jitter', 'spread requests that the trace puts at one instant until its next one')
    .option('--routers <n>', 'routers side by side, each with an index of its own', whole(1, 64), 1)
    .option('--replication <ms>', 'those routers tell each other what they send where, with this delay', delay)
    .option('--ttft-slo <ms>', 'a first token later than this misses the objective', positive, DEFAULT_OBJECTIVES.ttftMs)
    .option('--itl-slo <ms>', 'a slower answer than this between tokens misses it too', positive, DEFAULT_OBJECTIVES.itlMs)
    .option('--seed <n>', 'seed of everything random', parseSeed, 1)
    .option('--fail-if <condition>', 'end with 1 when this holds; may be given several times', conditions, [])
    .option('--json', 'print one JSON document')
    .action((flags: ReplayFlags) => runReplay(flags, exit));
}

async function runReplay(flags: ReplayFlags, exit: ExitStatus): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const policies = policiesNamed(flags.policies);
  const failIf = flags.failIf;
  for (const { text, figures } of failIf) {
    for (const { policy } of figures) {
      if (!policies.some(({ name }) => name === policy)) throw notReplayed(text, policy);
    }
  }
  if ((modelShapeNamed(flags.model) ?? derivedModelShape(flags.model)) === undefined) throw unknownModel(flags.model);
  const fleet = fleetOf(flags);
  const { facts } = new FixedFleet(fleet);
  if (flags.replication !== undefined && flags.routers === 1) {
    throw misplaced('--replication', 'one router has nobody to tell', 'give --routers');
  }
  const workload = workloadOf(flags);
  describe(output, flags, workload, facts);
  const results = await replayPolicies({
    policies,
    workload,
    fleet,
    seed: flags.seed,
    routers: flags.routers,
    replicationDelayMs: flags.replication,
    objectives: { ttftMs: flags.ttftSlo, itlMs: flags.itlSlo },
    onFinding: (finding) => output.line(reportLine(finding)),
    onResult: ({ name }) => output.block([`${name} is done`]),
  });
  for (const line of replayTable(results)) output.line(line);
  const byName = new Map(results.map((result) => [result.name, result]));
  const failed = failIf.filter((condition) => condition.holds(byName)).map(({ text }) => text);
  for (const text of failed) output.line(`failed: ${text}`);
  if (failed.length > 0) exit.code = 1;
  output.document({
    workload: {
      requests: requestsOf(workload),
      ...(workload.concurrency === undefined ? {} : { concurrency: workload.concurrency }),
    },
    fleet: {
      pods: flags.pods,
      model: flags.model,
      accelerator: flags.accelerator,
      ...facts,
      costPerHour: facts.costPerHour ?? null,
    },
    routers: flags.routers,
    replicationDelayMs: flags.replication ?? null,
    seed: flags.seed,
    policies: results,
    failed,
  });
}

function fleetOf(flags: ReplayFlags): FleetOptions {
  const { pods: replicas, model, accelerator, gpus, engineArgs, kvTokens, prefillRate: prefillTokensPerSecond } = flags;
  return {
    replicas,
    model,
    accelerator,
    ...(gpus === undefined ? {} : { gpus }),
    ...(engineArgs === undefined ? {} : { engineArgs }),
    ...(kvTokens === undefined ? {} : { kvTokens }),
    ...(prefillTokensPerSecond === undefined ? {} : { prefillTokensPerSecond }),
  };
}

function workloadOf(flags: ReplayFlags): Workload {
  const { trace, sharedPrefix, concurrency, rate, speed, limit, jitter, seed } = flags;
  const random = seededRandom(seed);
  const bound = concurrency === undefined ? {} : { concurrency };
  if (trace !== undefined && sharedPrefix === undefined) {
    if (rate !== undefined) throw misplaced('--rate', 'a trace has its own arrivals', 'use --speed');
    return traceWorkload(readTrace(trace), {
      ...bound,
      ...(speed === undefined ? {} : { speed }),
      ...(limit === undefined ? {} : { limit }),
      ...(jitter === undefined ? {} : { jitter: random }),
    });
  }
  if (sharedPrefix === undefined || trace !== undefined) {
    throw misplaced('--trace', 'there must be one workload', 'give either --trace or --shared-prefix');
  }
  for (const [flag, value] of Object.entries({ '--speed': speed, '--limit': limit, '--jitter': jitter })) {
    if (value !== undefined) throw misplaced(flag, 'only a trace has arrivals to change', 'use --rate');
  }
  if (concurrency === undefined && rate === undefined) {
    throw misplaced('--shared-prefix', 'nothing says when to send', 'give --concurrency, --rate or both');
  }
  return sharedPrefixWorkload(sharedPrefix, { random, ...bound, ...(rate === undefined ? {} : { requestsPerSecond: rate }) });
}

function describe(output: Output, flags: ReplayFlags, workload: Workload, facts: FixedFleet['facts']): void {
  const { pods, model, accelerator, routers } = flags;
  const engines = `${pods} × ${model} on ${facts.gpus} × ${accelerator}`;
  const each = `${facts.kvTokens} KV tokens and ${Math.round(facts.prefillTokensPerSecond)} prompt tokens/s each`;
  output.line(`${requestsOf(workload)} requests to ${engines}, ${each}, through ${routers} router${routers === 1 ? '' : 's'}`);
}

function requestsOf({ sessions }: Workload): number {
  return sessions.reduce((sum, { requests }) => sum + requests.length, 0);
}

function notReplayed(text: string, policy: string): KvasirError {
  return new KvasirError({
    code: 'replay/fail-if',
    field: '--fail-if',
    message: `${JSON.stringify(text)} names ${JSON.stringify(policy)}, which is not replayed`,
    remedy: 'add it to --policies',
  });
}

function unknownModel(model: string): KvasirError {
  return new KvasirError({
    code: 'replay/unknown-model',
    field: '--model',
    message: `the catalogue has no model ${JSON.stringify(model)}`,
    remedy: `use one of its size: ${MODEL_SHAPES.map(({ name }) => name).join(', ')}`,
  });
}

function misplaced(field: string, message: string, remedy: string): KvasirError {
  return new KvasirError({ code: 'replay/flags', field, message, remedy });
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`give a whole number from ${least} to ${most}`);
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('give a number above 0');
}

function delay(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('give milliseconds, from 0');
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function conditions(text: string, before: readonly FailIf[]): readonly FailIf[] {
  return [...before, parseFailIf(text)];
}
