import { Command } from 'commander';
import { type AutoscalerConfig, defaultAutoscalerConfig, parseAutoscalerConfig } from '../../src/config/autoscaler-config';
import { type Finding, KvasirError } from '../../src/errors';
import { addClusterOptions, type ClusterFlags, type ElectionOptions, openCluster } from '../cluster/open-cluster';
import { formatAddress, parseListenAddress } from '../lib/http-listen';
import { exitWith, runImage, untilSignal } from '../lib/image-program';
import { createLogger } from '../lib/logger';
import { readConfig } from '../lib/read-config';
import { wallClock } from '../lib/wall-clock';
import { type RunningAutoscaler, startAutoscaler } from './autoscaler';
import { WATCHED_OBJECTS } from './watched-objects';

interface Flags extends ClusterFlags {
  readonly metricsListen: string;
  readonly debugListen: string;
  readonly config?: string;
}

/** The autoscaler's command line. @param argv arguments after the program's name. @returns the exit status, as `runImage` says. */
export function autoscalerMain(argv: readonly string[]): Promise<number> {
  const program = addClusterOptions(new Command('autoscaler'))
    .description('Scales workloads by the metrics of their pods, as AutoscalingPolicy objects say.')
    .option('--metrics-listen <host:port>', 'address of /metrics, /healthz and /readyz', '127.0.0.1:9091')
    .option('--debug-listen <host:port>', 'address of /debug/explain, which has no authentication', '127.0.0.1:15001')
    .option('--config <file>', 'autoscaler configuration file');
  return runImage<Flags>(program, argv, run);
}

async function run(flags: Flags): Promise<void> {
  const addresses = {
    metricsListen: parseListenAddress(flags.metricsListen, '--metrics-listen'),
    debugListen: parseListenAddress(flags.debugListen, '--debug-listen'),
  };
  const config = flags.config === undefined ? defaultAutoscalerConfig() : readConfig(flags.config, parseAutoscalerConfig);
  const log = createLogger('autoscaler');
  const clock = wallClock();
  const election = electionOf(config);
  const cluster = await openCluster(flags, { component: 'kvasir-autoscaler', watch: WATCHED_OBJECTS, clock, log, election });
  let autoscaler: RunningAutoscaler | undefined;
  let loss: Finding | undefined;
  try {
    autoscaler = await startAutoscaler({ cluster, clock, config, ...addresses, log, processMetrics: true });
    const ended = untilSignal(
      (signal) => {
        log.info({ signal }, 'ending after this round; a second signal ends at once');
        return autoscaler!.close();
      },
      () => Promise.resolve(),
    );
    log.info(
      { metrics: formatAddress(autoscaler.metricsAddress!), debug: formatAddress(autoscaler.debugAddress!) },
      'serving metrics and explanations',
    );
    loss = await Promise.race([ended.then(() => undefined), cluster.leadership.contest?.lost ?? new Promise<never>(() => {})]);
  } finally {
    const closed = cluster.close();
    // Who has lost has nothing left to write: it says so at once, and pages and an API that do not answer hold nothing up.
    if (loss === undefined) await closed;
    else void autoscaler?.close();
  }
  if (loss !== undefined) throw new KvasirError(loss);
}

function electionOf(config: AutoscalerConfig): ElectionOptions {
  return {
    leaseName: config.leaseName,
    leaseDurationMs: config.leaseDurationMs,
    renewDeadlineMs: config.leaseRenewDeadlineMs,
    retryPeriodMs: config.leaseRetryPeriodMs,
  };
}

if (require.main === module) exitWith(autoscalerMain(process.argv.slice(2)));
