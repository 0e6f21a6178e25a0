import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta';
import { parseFamilies, seriesValue } from './prometheus-text';
import { send } from './router-harness';

const ROOT = join(__dirname, '../..');
/** Between Node's samples of the loop's delay: an idle loop is measured to be this late. */
const SAMPLE_MS = 10;

/** The router image's own program in a process of its own, so that what it costs is told from what the test costs. */
export class RouterProcess {
  private constructor(
    readonly port: number,
    private readonly metricsPort: number,
    private readonly child: ChildProcess,
    private readonly ended: Promise<number | null>,
  ) {}

  /** @param folder that objects and configuration are written to. */
  static async start(folder: string, objects: readonly KubeObject[], config: object): Promise<RouterProcess> {
    const [objectsFile, configFile] = [join(folder, 'objects.yaml'), join(folder, 'config.json')];
    writeFileSync(objectsFile, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    writeFileSync(configFile, JSON.stringify(config));
    const addresses = ['--listen', '--metrics-listen', '--debug-listen'].flatMap((flag) => [flag, '127.0.0.1:0']);
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'runtime/router/main.ts', '--cluster', objectsFile, '--config', configFile, ...addresses],
      { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    let said = '';
    const portOf = (name: string): number | undefined => {
      const match = new RegExp(`"${name}":"127\\.0\\.0\\.1:(\\d+)"`).exec(said);
      return match === null ? undefined : Number(match[1]);
    };
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(said)));
      child.stderr.on('data', (chunk) => {
        said += String(chunk);
        const [port, metricsPort] = [portOf('listen'), portOf('metrics')];
        if (port !== undefined && metricsPort !== undefined) resolve(new RouterProcess(port, metricsPort, child, ended));
      });
    });
  }

  /** The delay of its event loop since it was last asked. */
  async eventLoopDelay(): Promise<{ readonly p50Ms: number; readonly p99Ms: number }> {
    const families = parseFamilies((await send(`http://127.0.0.1:${this.metricsPort}`, '/metrics')).body);
    const delayMs = (percentile: string): number =>
      Math.max(0, seriesValue(families, `nodejs_eventloop_lag_${percentile}_seconds`) * 1000 - SAMPLE_MS);
    return { p50Ms: delayMs('p50'), p99Ms: delayMs('p99') };
  }

  terminate(): void {
    this.child.kill('SIGTERM');
  }

  /** Resolves with its exit status; null when a signal ended it. */
  exited(): Promise<number | null> {
    return this.ended;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
