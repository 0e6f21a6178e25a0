import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';

/** Whether Prometheus is here; without it tests are skipped with one line, and under CI it is an error. */
export function hasPrometheus(): boolean {
  if (spawnSync('prometheus', ['--version']).status === 0) return true;
  if (process.env.CI !== undefined) throw new Error('no prometheus: install the package prometheus');
  process.stderr.write('prometheus is not installed (apt-get install prometheus), so nothing is tested against it\n');
  return false;
}

/** A real Prometheus on a free loopback port that scrapes one target each second and forgets everything at its end. */
export class PrometheusServer {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** @param target `host:port` to scrape. @param tls PEM files; clients must then show a certificate of `clientCa`. */
  static async start(
    target: string,
    tls?: { readonly cert: string; readonly key: string; readonly clientCa: string },
  ): Promise<PrometheusServer> {
    const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
    const port = await freePort();
    const scrape = `{ job_name: t, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{ targets: ['${target}'] }] }`;
    writeFileSync(join(folder, 'prometheus.yml'), `scrape_configs: [${scrape}]\n`);
    const web = tls && {
      cert_file: tls.cert,
      key_file: tls.key,
      client_ca_file: tls.clientCa,
      client_auth_type: 'RequireAndVerifyClientCert',
    };
    writeFileSync(join(folder, 'web.yml'), web === undefined ? '{}\n' : `${JSON.stringify({ tls_server_config: web })}\n`);
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--web.config.file=${join(folder, 'web.yml')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    await new Promise<void>((resolve, reject) => {
      let text = '';
      child.stderr!.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('Server is ready to receive web requests')) resolve();
      });
      child.once('exit', () => reject(new Error(`prometheus ended: ${text}`)));
    });
    return new PrometheusServer(port, child, folder);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
