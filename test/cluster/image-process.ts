import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';

const ROOT = join(__dirname, '../..');

/** One line of a program's log. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The router's or autoscaler's own program, in a process of its own, against a Kubernetes API as somebody. */
export class ImageProcess {
  readonly log: LogLine[] = [];
  private readonly ended: Promise<number | null>;
  private text = '';
  /** What it wrote beside its log, such as why it cannot run. */
  readonly complaints: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    this.ended = new Promise((resolve) => child.once('exit', resolve));
    child.stderr!.on('data', (chunk: Buffer) => this.read(chunk.toString()));
  }

  /** @param config of the configuration file. @param flags after those of the cluster. */
  static async start(
    part: 'router' | 'autoscaler',
    credentials: Credentials,
    config: object = {},
    flags: readonly string[] = [],
  ): Promise<ImageProcess> {
    const folder = mkdtempSync(join(tmpdir(), `kvasir-${part}-`));
    const [kubeconfig, configFile] = [join(folder, 'kubeconfig'), join(folder, 'config.json')];
    writeFileSync(kubeconfig, JSON.stringify(await kubeconfigOf(credentials)));
    writeFileSync(configFile, JSON.stringify(config));
    const listens = (part === 'router' ? ['listen'] : []).concat('metrics-listen', 'debug-listen');
    const addresses = listens.flatMap((name) => [`--${name}`, '127.0.0.1:0']);
    const child = spawn(
      process.execPath,
      [
        ...['--import', 'tsx', `runtime/${part}/main.ts`, '--cluster', 'kubernetes', '--kubeconfig', kubeconfig],
        ...['--config', configFile, ...addresses, ...flags],
      ],
      { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const started = new ImageProcess(child, folder);
    await started.logged(({ metrics }) => metrics !== undefined);
    return started;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** `host:port` that a listener has: `listen`, `metrics` or `debug`. */
  address(listener: 'listen' | 'metrics' | 'debug'): string {
    return String(this.log.find((line) => line[listener] !== undefined)![listener]);
  }

  /** Resolves with the first line for which `matches`. Rejects when the process ends before. */
  async logged(matches: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = this.log.find(matches);
      if (found !== undefined) return found;
      if (this.child.exitCode !== null)
        throw new Error(`ended with ${this.child.exitCode}: ${[...this.complaints, this.text].join('\n')}`);
      const heard = new AbortController();
      const { signal } = heard;
      await Promise.race([once(this.child.stderr!, 'data', { signal }), once(this.child, 'exit', { signal })]);
      heard.abort();
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves with its exit status; null when a signal ended it. */
  exited(): Promise<number | null> {
    return this.ended;
  }

  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  private read(chunk: string): void {
    const lines = (this.text + chunk).split('\n');
    this.text = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith('{')) this.log.push(JSON.parse(line) as LogLine);
      else this.complaints.push(line);
    }
  }
}

/** A kubeconfig of somebody with a token. */
export async function kubeconfigOf(credentials: Credentials): Promise<object> {
  const { headers } = await credentials.connection();
  const token = headers.authorization?.replace(/^Bearer /, '');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: credentials.server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'somebody', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'somebody', namespace: credentials.namespace } }],
    'current-context': 'test',
  };
}
