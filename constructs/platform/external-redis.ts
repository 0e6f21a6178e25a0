import { isIP } from 'node:net';
import type { SecretRef } from '../secret-ref';
import type { RedisServer, RedisTls } from './redis-server';

export interface ExternalRedisOptions {
  /** `host:port` of the server. */
  readonly address: string;
  /** User of the server's access list. @default the default user */
  readonly username?: string;
  /** Password, from a Secret in the namespace of the router. @default none */
  readonly password?: SecretRef;
  /** Encrypts the connection and checks the server's certificate; `true` with public authorities and the host of the address. @default false */
  readonly tls?: boolean | RedisTls;
  /**
   * Where the server is, for `NetworkIsolation`, as CIDRs.
   *
   * @default the address itself, or the namespace that its name tells, else every private address
   */
  readonly cidrs?: readonly string[];
}

/** A Redis that somebody else runs. Made by `Redis.external`. */
export class ExternalRedis implements RedisServer {
  /** @throws RangeError when the address is not `host:port`. */
  static of({ address, tls, ...options }: ExternalRedisOptions): ExternalRedis {
    const [, host = '', port = ''] = ADDRESS.exec(address) ?? [];
    const isBracketed = host.startsWith('[');
    if (host === '' || Number(port) < 1 || Number(port) > 65_535 || (isBracketed && isIP(host.slice(1, -1)) !== 6))
      throw new RangeError(
        `Redis.external: address ${JSON.stringify(address)} is no host:port; write it like redis.example.com:6379`,
      );
    return new ExternalRedis(address, options, tls === true ? {} : tls === false ? undefined : tls);
  }

  readonly username?: string;
  readonly password?: SecretRef;
  readonly tls?: RedisTls;
  readonly cidrs: readonly string[] | undefined;

  private constructor(
    readonly address: string,
    { username, password, cidrs }: Omit<ExternalRedisOptions, 'address' | 'tls'>,
    tls: RedisTls | undefined,
  ) {
    if (username !== undefined) this.username = username;
    if (password !== undefined) this.password = password;
    if (tls !== undefined) this.tls = tls;
    this.cidrs = cidrs;
  }
}

const ADDRESS = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/;
