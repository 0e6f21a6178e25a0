import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { RedisConfig } from '../../src/config/redis-config';
import type { Clock, Timer } from './clock';
import type { RedisScript } from './redis-script';

export interface RedisConnectionOptions {
  readonly config: RedisConfig;
  readonly clock: Clock;
  /** Called when the server begins or ends to be usable. @param reason why it is not; without any secret. */
  readonly onChange?: (isUp: boolean, reason: string | undefined) => void;
  /** Called for each command that failed. */
  readonly onFailure?: () => void;
}

/** The server cannot be used, or did not answer in time: whether the command was carried out is not known. */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable';
}

const DEFAULT_PORT = 6379;
/** Until a connection stands and the server said that it is ready. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A command that takes longer means that the server hangs: a healthy one answers in under a millisecond. */
const COMMAND_TIMEOUT_MS = 1_000;
/** A server that hangs does not end its side. */
const DISCONNECT_TIMEOUT_MS = 200;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/**
 * One connection to Redis that never holds anybody up: nothing is connected before `open`, each command has a time limit, and while the
 * server is away commands fail at once. It is tried again in the background; password and certificates are read anew at each try, so
 * that a renewed one counts.
 */
export class RedisConnection {
  private client: Redis | undefined;
  private first: Promise<boolean> | undefined;
  private retry: Timer | undefined;
  private retryMs = FIRST_RETRY_MS;
  private isClosed = false;
  private wasUp: boolean | undefined;

  constructor(private readonly options: RedisConnectionOptions) {}

  get address(): string {
    return this.options.config.address;
  }

  get isUp(): boolean {
    return this.client !== undefined;
  }

  /** Begins to connect; later calls do nothing. */
  open(): void {
    if (this.isClosed) return;
    this.first ??= this.connect();
  }

  /** Whether commands can be sent: at once, except while the first connection is being made. */
  ready(): boolean | Promise<boolean> {
    if (this.client !== undefined) return true;
    this.open();
    return this.wasUp === undefined && this.first !== undefined ? this.first : false;
  }

  /**
   * Sends commands.
   *
   * @throws RedisUnavailable when there is no connection, or it broke or hung. An error that the server answered with is thrown as it is.
   */
  async use<T>(send: (client: Redis) => Promise<T>): Promise<T> {
    const { client } = this;
    if (client === undefined) throw new RedisUnavailable(`Redis ${this.address} is not connected`);
    try {
      return await send(client);
    } catch (error) {
      this.options.onFailure?.();
      if (isReply(error)) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      this.lost(client, reason);
      throw new RedisUnavailable(`Redis ${this.address}: ${reason}`);
    }
  }

  /** Runs a script. Throws as `use` does. */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.use(async (client) => {
      try {
        return await client.evalsha(script.sha1, keys.length, ...keys, ...args);
      } catch (error) {
        if (!isReply(error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return client.eval(script.source, keys.length, ...keys, ...args);
      }
    });
  }

  /** Ends the connection; commands under way fail. */
  close(): void {
    this.isClosed = true;
    this.retry?.cancel();
    const { client } = this;
    this.client = undefined;
    client?.disconnect();
  }

  /** @returns whether it stands; never rejects. */
  private async connect(): Promise<boolean> {
    let client: Redis | undefined;
    let reason = '';
    try {
      client = await this.makeClient();
      client.on('error', (error: Error) => {
        reason = error.message;
      });
      await this.inTime(client.connect());
    } catch (error) {
      client?.disconnect();
      // The event says what happened, such as a refused password; the rejection only that there is no connection.
      this.down(reason || (error instanceof Error ? error.message : String(error)));
      return false;
    }
    if (this.isClosed) {
      client.disconnect();
      return false;
    }
    const connected = client;
    this.client = connected;
    this.retryMs = FIRST_RETRY_MS;
    connected.once('end', () => this.lost(connected, reason || 'the connection ended'));
    this.tell(true, undefined);
    return true;
  }

  private async makeClient(): Promise<Redis> {
    const { config } = this.options;
    const { host, port } = hostAndPort(config.address);
    const [password, ca] = await Promise.all([
      config.passwordFile === undefined ? undefined : readFile(config.passwordFile, 'utf8'),
      config.tls?.caFile === undefined ? undefined : readFile(config.tls.caFile, 'utf8'),
    ]);
    return new Redis({
      host,
      port,
      // The wire of all versions; replies have one shape in any case.
      protocol: 2,
      ...(config.username === undefined ? {} : { username: config.username }),
      ...(password === undefined ? {} : { password: password.replace(/\r?\n$/, '') }),
      ...(config.tls === undefined
        ? {}
        : { tls: { servername: config.tls.serverName ?? host, ...(ca === undefined ? {} : { ca }) } }),
      lazyConnect: true,
      disableClientInfo: true,
      connectionName: 'kvasir',
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
  }

  private inTime(connecting: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.options.clock.after(CONNECT_TIMEOUT_MS, () => reject(new Error('no connection in time')));
      connecting.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  private lost(client: Redis, reason: string): void {
    if (this.client !== client) return;
    this.client = undefined;
    client.disconnect();
    this.down(reason);
  }

  private down(reason: string): void {
    if (this.isClosed) return;
    this.tell(false, reason);
    this.retry = this.options.clock.after(this.retryMs, () => void this.connect());
    this.retryMs = Math.min(LAST_RETRY_MS, this.retryMs * 2);
  }

  private tell(isUp: boolean, reason: string | undefined): void {
    if (this.wasUp === isUp) return;
    this.wasUp = isUp;
    this.options.onChange?.(isUp, reason);
  }
}

/** The server understood the command and refused it. */
function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** An address without a port means Redis' own. */
function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const [, host = address, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(address) ?? [];
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: port === undefined ? DEFAULT_PORT : Number(port) };
}
