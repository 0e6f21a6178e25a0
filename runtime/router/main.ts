import { Command } from 'commander';
import { environmentFindings, environmentRouterConfig, routerConfigReader } from '../../src/config/kthena-environment';
import { addClusterOptions, type ClusterFlags, openCluster } from '../cluster/open-cluster';
import { formatAddress, parseListenAddress } from '../lib/http-listen';
import { exitWith, runImage, untilSignal } from '../lib/image-program';
import { createLogger, logFindings } from '../lib/logger';
import { systemRandom } from '../lib/random';
import { readConfig } from '../lib/read-config';
import { wallClock } from '../lib/wall-clock';
import { ConfigFile } from './config-file';
import { startRouter } from './router';
import { watchedObjects } from './watched-objects';

interface Flags extends ClusterFlags {
  readonly listen: string;
  readonly metricsListen: string;
  readonly debugListen: string;
  readonly config?: string;
}

/** The router's command line. @param argv arguments after the program's name. @returns the exit status, as `runImage` says. */
export function routerMain(argv: readonly string[]): Promise<number> {
  const program = addClusterOptions(new Command('router'))
    .description('Routes OpenAI-compatible requests to the pods of a cluster.')
    .option('--listen <host:port>', 'address for inference requests', '127.0.0.1:8080')
    .option('--metrics-listen <host:port>', 'address of /metrics', ':9090')
    .option('--debug-listen <host:port>', 'address of /debug, which has no authentication', '127.0.0.1:15000')
    .option('--config <file>', 'router configuration file');
  return runImage<Flags>(program, argv, run);
}

async function run(flags: Flags): Promise<void> {
  const addresses = {
    listen: parseListenAddress(flags.listen, '--listen'),
    metricsListen: parseListenAddress(flags.metricsListen, '--metrics-listen'),
    debugListen: parseListenAddress(flags.debugListen, '--debug-listen'),
  };
  const parse = routerConfigReader(process.env);
  const config = flags.config === undefined ? environmentRouterConfig(process.env) : readConfig(flags.config, parse);
  const log = createLogger('router');
  environmentFindings(process.env).forEach(logFindings(log));
  const clock = wallClock();
  const cluster = await openCluster(flags, { component: 'kvasir-router', watch: watchedObjects(config), clock, log });
  try {
    const router = await startRouter({ cluster, clock, random: systemRandom, config, ...addresses, log, processMetrics: true });
    const file =
      flags.config === undefined ? undefined : new ConfigFile(flags.config, (next) => void router.reconfigure(next), parse);
    await file?.start();
    const ended = untilSignal(
      (signal) => {
        const { timeoutMs } = router.config.drain;
        log.info({ signal, timeoutMs }, 'draining; a second signal ends at once');
        return router.drain(timeoutMs);
      },
      () => router.close(),
    ).finally(() => file?.close());
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

if (require.main === module) exitWith(routerMain(process.argv.slice(2)));
