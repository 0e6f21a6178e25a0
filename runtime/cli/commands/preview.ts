import type { Command } from 'commander';
import { KvasirError } from '../../../src/errors';
import { formatAddress, parseListenAddress } from '../../lib/http-listen';
import { createLogger, silentLogger } from '../../lib/logger';
import { wallClock } from '../../lib/wall-clock';
import { ChatClient } from '../load/chat-client';
import { driveChat } from '../load/drive-chat';
import { AUTOSCALER_DEBUG, ROUTER_DEBUG } from '../look/look';
import { processOutput } from '../output';
import { parseSeed, parseSpeed } from '../parse-number';
import { curlOf, modelToAsk } from '../preview/curl';
import { type RunningPreview, startPreview } from '../preview/preview';
import { previewDocument } from '../preview/preview-document';
import { scaledLine } from '../preview/scaled-line';
import { watchPreview } from '../preview/watch-preview';
import { reportLine } from '../report-line';
import { chatWorkload } from '../workload/chat-workload';

interface PreviewFlags {
  readonly listen: string;
  readonly metricsListen: string;
  readonly debugListen: string;
  readonly autoscalerDebugListen: string;
  readonly config?: string;
  readonly speed: number;
  readonly seed: number;
  readonly load?: string;
  readonly json?: true;
  readonly verbose?: true;
}

/** `kvasir preview`: any manifests, running on this machine. */
export function addPreviewCommand(program: Command, interrupted: AbortSignal): void {
  program
    .command('preview')
    .description('run manifests with simulated engines, the real router and the real autoscaler')
    .argument('<folder|files...>', 'manifests: folders are read with everything in them')
    .option('--listen <host:port>', 'where the router listens', '127.0.0.1:8080')
    .option('--metrics-listen <host:port>', "where the router's metrics are", ':9090')
    .option('--debug-listen <host:port>', "where the router's debug pages are", ROUTER_DEBUG)
    .option('--autoscaler-debug-listen <host:port>', "where the autoscaler's explanations are", AUTOSCALER_DEBUG)
    .option('--config <file>', 'router configuration file')
    .option('--speed <n>', 'run engines, router clock and autoscaler n times faster', parseSpeed, 1)
    .option('--seed <n>', 'seed of everything random', parseSeed, 1)
    .option('--load <workload>', 'drive a workload: chat')
    .option('--json', 'print one JSON document when it ends')
    .option('--verbose', 'log what the router and the autoscaler do')
    .action((paths: string[], flags: PreviewFlags) => runPreview(paths, flags, interrupted));
}

async function runPreview(paths: readonly string[], flags: PreviewFlags, interrupted: AbortSignal): Promise<void> {
  requireKnownWorkload(flags.load);
  const output = processOutput({ json: flags.json === true });
  const preview = await startPreview({
    paths,
    listen: parseListenAddress(flags.listen, '--listen'),
    metricsListen: parseListenAddress(flags.metricsListen, '--metrics-listen'),
    debugListen: parseListenAddress(flags.debugListen, '--debug-listen'),
    autoscalerDebugListen: parseListenAddress(flags.autoscalerDebugListen, '--autoscaler-debug-listen'),
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    clock: wallClock(flags.speed),
    seed: flags.seed,
    log: flags.verbose ? createLogger('preview') : silentLogger(),
    onFinding: (finding) => output.line(reportLine(finding)),
    onScaled: (scaled) => output.line(scaledLine(scaled)),
  });
  try {
    const model = modelToAsk(preview.cluster.objects);
    output.line(
      `router at http://${formatAddress(preview.router.address)}; engines are simulated, and so is the text of their answers`,
    );
    output.line('pods start as long as their models take to load; then, in a second terminal:');
    output.line(curlOf(preview.router.address, model));
    output.line('Ctrl-C ends it.');
    const load = flags.load === undefined ? undefined : driveChatUntil(preview, model, flags.seed, interrupted);
    await watchPreview(preview, output, interrupted);
    await load;
    output.document(previewDocument(preview, flags.speed));
  } finally {
    await preview.close();
  }
}

function requireKnownWorkload(load: string | undefined): void {
  if (load === undefined || load === 'chat') return;
  throw new KvasirError({
    code: 'preview/unknown-workload',
    field: '--load',
    message: `there is no workload '${load}'`,
    remedy: 'use --load chat',
  });
}

/** Ten minutes of the preview's clock, again and again. */
const CHAT_ROUND = { conversations: 120, durationMs: 600_000 } as const;

async function driveChatUntil(preview: RunningPreview, model: string, seed: number, signal: AbortSignal): Promise<void> {
  const client = new ChatClient(preview.clock, preview.router.address);
  await preview.cluster.settled();
  for (let round = 0; !signal.aborted; round++) {
    const conversations = chatWorkload({ seed: seed + round, ...CHAT_ROUND });
    await driveChat(client, model, conversations, preview.clock, () => undefined, signal);
  }
  await client.close();
}
