import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { freePort } from './free-port';

/** Whether redis-server is here; without it tests are skipped with one line, and under CI it is an error. */
export function hasRedisServer(): boolean {
  if (spawnSync('redis-server', ['--version']).status === 0) return true;
  if (process.env.CI !== undefined) throw new Error('no redis-server: install the package redis-server');
  process.stderr.write('redis-server is not installed (apt-get install redis-server), so nothing is tested against it\n');
  return false;
}

/** A real Redis on a free loopback port, which nothing is written to disk by. */
export class RedisServer {
  private child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly args: readonly string[],
  ) {}

  /** @param args more arguments, as `--requirepass`. */
  static async start(...args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.start();
    return server;
  }

  /** One that speaks TLS only. @param certificate PEM file. @param key PEM file. */
  static async startTls(certificate: string, key: string): Promise<RedisServer> {
    const port = await freePort();
    const tls = ['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key, '--tls-auth-clients', 'no'];
    const server = new RedisServer(port, ['--port', '0', ...tls, '--tls-ca-cert-file', certificate]);
    await server.start();
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Starts it anew, empty. @param args in place of those that it was made with. */
  async start(args: readonly string[] = this.args): Promise<void> {
    const child = spawn(
      'redis-server',
      ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', tmpdir(), ...args],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      let text = '';
      child.stdout!.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('Ready to accept connections')) resolve();
      });
      child.once('exit', () => reject(new Error(`redis-server ended: ${text}`)));
    });
  }

  /** It is there and answers nothing. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Runs `work` on a client of its own. */
  async with<T>(work: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis({ host: '127.0.0.1', port: this.port, protocol: 2 });
    try {
      return await work(client);
    } finally {
      client.disconnect();
    }
  }
}
