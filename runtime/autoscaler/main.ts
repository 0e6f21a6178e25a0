import { Command, CommanderError } from 'commander';
import { defaultAutoscalerConfig, parseAutoscalerConfig } from '../../src/config/autoscaler-config';
import { type Finding, findingLine, KvasirError } from '../../src/errors';
import { openManifestCluster } from '../cluster/manifests';
import { formatAddress, parseListenAddress } from '../lib/http-listen';
import { createLogger } from '../lib/logger';
import { readConfig } from '../lib/read-config';
import { onShutdownSignal } from '../lib/shutdown';
import { wallClock } from '../lib/wall-clock';
import { startAutoscaler } from './autoscaler';

interface Flags {
  readonly cluster: string;
  readonly metricsListen: string;
  readonly debugListen: string;
  readonly config?: string;
}

/**
 * The autoscaler's command line.
 *
 * @param argv arguments after the program's name.
 * @returns the exit status: 0 after a shutdown by signal, 1 when nothing could run, 2 for a wrong command line.
 */
export async function autoscalerMain(argv: readonly string[]): Promise<number> {
  const program = new Command('autoscaler')
    .description('Scales workloads by the metrics of their pods, as AutoscalingPolicy objects say.')
    .requiredOption('--cluster <source>', 'a folder or file of manifests, or `kubernetes`')
    .option('--metrics-listen <host:port>', 'address of /metrics, /healthz and /readyz', '127.0.0.1:9091')
    .option('--debug-listen <host:port>', 'address of /debug/explain, which has no authentication', '127.0.0.1:15001')
    .option('--config <file>', 'autoscaler configuration file')
    .exitOverride()
    .configureOutput({ writeOut: (text) => process.stderr.write(text) });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  const flags = program.opts<Flags>();
  if (flags.cluster === 'kubernetes') {
    return complain('--cluster kubernetes: this version reads manifests only; give a folder of YAML files', 2);
  }
  try {
    await run(flags);
    return 0;
  } catch (error) {
    if (error instanceof KvasirError) return complain(error.message, 1);
    throw error;
  }
}

async function run(flags: Flags): Promise<void> {
  const addresses = {
    metricsListen: parseListenAddress(flags.metricsListen, '--metrics-listen'),
    debugListen: parseListenAddress(flags.debugListen, '--debug-listen'),
  };
  const config = flags.config === undefined ? defaultAutoscalerConfig() : readConfig(flags.config, parseAutoscalerConfig);
  const log = createLogger('autoscaler');
  const clock = wallClock();
  const onFinding = (finding: Finding): void =>
    log[finding.severity === 'error' ? 'error' : 'warn']({ code: finding.code }, findingLine(finding));
  const cluster = await openManifestCluster({ paths: [flags.cluster], clock, watch: true, onFinding });
  try {
    const autoscaler = await startAutoscaler({ cluster, clock, config, ...addresses, log, processMetrics: true });
    const ended = new Promise<void>((resolve) => {
      const stop = onShutdownSignal(
        (signal) => {
          log.info({ signal }, 'ending after this round; a second signal ends at once');
          void autoscaler.close().then(finish);
        },
        () => finish(),
      );
      const finish = (): void => {
        stop();
        resolve();
      };
    });
    log.info(
      { metrics: formatAddress(autoscaler.metricsAddress!), debug: formatAddress(autoscaler.debugAddress!) },
      'serving metrics and explanations',
    );
    await ended;
  } finally {
    await cluster.close();
  }
}

function complain(line: string, status: number): number {
  process.stderr.write(`${line}\n`);
  return status;
}

if (require.main === module) {
  autoscalerMain(process.argv.slice(2)).then(
    (status) => process.exit(status),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}
