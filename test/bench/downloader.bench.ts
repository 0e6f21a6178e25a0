/**
 * A large file through the downloader from a server on this machine that resets a connection whenever 100 MB more were sent, by two processes that share
 * a folder. Fails when the file is not right, when more than 1.1 times its bytes were sent, or when both fetched it.
 *
 * Run:   npx tsx test/bench/downloader.bench.ts [--megabytes 2000]
 * Needs: twice the size as memory and once as disk. Takes: less than a minute.
 *
 * The program is the image's bundle. The bytes are random; the server is in this process, on the other CPU where there are two.
 */
import type { ChildProcess } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { createReadStream, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ModelHub, REPOSITORY } from '../helpers/model-hub';
import { BenchProcesses, joinLoadCpu, PROXY_CPU } from './rig/bench-processes';
import { bundled } from './rig/bench-router';
import { runBench } from './rig/run-bench';

const RESET_BYTES = 100_000_000;
const MOST_SENT = 1.1;
const NAME = 'model.safetensors';

interface Ended {
  readonly code: number | null;
  readonly said: string;
  readonly peakMegabytes: number;
}

function ended(child: ChildProcess): Promise<Ended> {
  let said = '';
  let peak = 0;
  const look = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It is over.
    }
  }, 100);
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((resolve) =>
    child.once('close', (code) => {
      clearInterval(look);
      resolve({ code, said, peakMegabytes: peak });
    }),
  );
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

runBench(async () => {
  const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '2000' } } });
  joinLoadCpu();
  const processes = new BenchProcesses();
  const content = Buffer.allocUnsafe(Number(values.megabytes) * 1_000_000);
  for (let at = 0; at < content.length; at += 2 ** 28) randomFillSync(content, at, Math.min(2 ** 28, content.length - at));
  const hub = await ModelHub.start([{ path: NAME, content, isLarge: true }]);
  hub.resetEveryBytes = RESET_BYTES;
  const folder = join(processes.folder, 'model');
  const failures: string[] = [];
  try {
    const program = bundled(processes, 'runtime/downloader/main.ts');
    const config = JSON.stringify({ hf_endpoint: hub.endpoint });
    const args = [program, '--source', `hf://${REPOSITORY}`, '--output-dir', folder, '--config', config];
    const startedMs = performance.now();
    const both = await Promise.all([0, 1].map(() => ended(processes.start(PROXY_CPU, process.execPath, args))));
    const seconds = (performance.now() - startedMs) / 1000;
    for (const [index, { code, said, peakMegabytes }] of both.entries()) {
      process.stdout.write(
        `process ${index}: ended with ${code}, at most ${peakMegabytes.toFixed(0)} MB; ${said.trimEnd().split('\n').at(-1)}\n`,
      );
      if (code !== 0) failures.push(`process ${index} ended with ${code}: ${said}`);
    }
    const ratio = hub.sentBytes / content.length;
    process.stdout.write(
      `${values.megabytes} MB in ${seconds.toFixed(1)} s with ${hub.resets} resets; ${ratio.toFixed(3)} times its bytes were sent (at most ${MOST_SENT})\n`,
    );
    if (ratio > MOST_SENT) failures.push(`${ratio.toFixed(3)} times the bytes were sent`);
    if (hub.resets < Math.floor(content.length / RESET_BYTES)) failures.push('connections were not reset');
    if (both.filter(({ said }) => / fetched in /.test(said)).length !== 1) failures.push('not one process alone fetched it');
    const isRight = (await sha256(join(folder, NAME))) === createHash('sha256').update(content).digest('hex');
    process.stdout.write(`SHA-256 ${isRight ? 'is right' : 'is WRONG'}\n`);
    if (!isRight) failures.push('the file is not right');
  } finally {
    await hub.close();
    processes.close();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
  return failures.length === 0;
});
