import { Command, CommanderError } from 'commander';
import { defaultRouterConfig, parseRouterConfig } from '../../src/config/router-config';
import { type Finding, findingLine, KvasirError } from '../../src/errors';
import { openManifestCluster } from '../cluster/manifests';
import { formatAddress, parseListenAddress } from '../lib/http-listen';
import { createLogger } from '../lib/logger';
import { systemRandom } from '../lib/random';
import { readConfig } from '../lib/read-config';
import { onShutdownSignal } from '../lib/shutdown';
import { wallClock } from '../lib/wall-clock';
import { startRouter } from './router';

interface Flags {
  readonly cluster: string;
  readonly listen: string;
  readonly metricsListen: string;
  readonly debugListen: string;
  readonly config?: string;
}

/**
 * The router's command line.
 *
 * @param argv arguments after the program's name.
 * @returns the exit status: 0 after a drained shutdown, 1 when nothing could run, 2 for a wrong command line.
 */
export async function routerMain(argv: readonly string[]): Promise<number> {
  const program = new Command('router')
    .description('Routes OpenAI-compatible requests to the pods of a cluster.')
    .requiredOption('--cluster <source>', 'a folder or file of manifests, or `kubernetes`')
    .option('--listen <host:port>', 'address for inference requests', '127.0.0.1:8080')
    .option('--metrics-listen <host:port>', 'address of /metrics', ':9090')
    .option('--debug-listen <host:port>', 'address of /debug, which has no authentication', '127.0.0.1:15000')
    .option('--config <file>', 'router configuration file')
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
    listen: parseListenAddress(flags.listen, '--listen'),
    metricsListen: parseListenAddress(flags.metricsListen, '--metrics-listen'),
    debugListen: parseListenAddress(flags.debugListen, '--debug-listen'),
  };
  const config = flags.config === undefined ? defaultRouterConfig() : readConfig(flags.config, parseRouterConfig);
  const log = createLogger('router');
  const clock = wallClock();
  const report = (finding: Finding): void =>
    log[finding.severity === 'error' ? 'error' : 'warn']({ code: finding.code }, findingLine(finding));
  const cluster = await openManifestCluster({ paths: [flags.cluster], clock, watch: true, onFinding: report });
  try {
    const router = await startRouter({ cluster, clock, random: systemRandom, config, ...addresses, log, processMetrics: true });
    const ended = new Promise<void>((resolve) => {
      const stop = onShutdownSignal(
        (signal) => {
          log.info({ signal, timeoutMs: config.drain.timeoutMs }, 'draining; a second signal ends at once');
          void router.drain(config.drain.timeoutMs).then(finish);
        },
        () => void router.close().then(finish),
      );
      const finish = (): void => {
        stop();
        resolve();
      };
    });
    log.info(
      {
        listen: formatAddress(router.address),
        metrics: formatAddress(router.metricsAddress),
        debug: formatAddress(router.debugAddress),
      },
      'serving',
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
  routerMain(process.argv.slice(2)).then(
    (status) => process.exit(status),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}
