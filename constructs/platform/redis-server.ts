import type { RouterConfig } from '../../src/config/router-config';
import type { SecretRef } from '../secret-ref';
import type { MountedFiles } from './platform-pod';

/** A Redis that Kvasir's images use: the construct `Redis`, or one that `Redis.external` describes. */
export interface RedisServer {
  /** `host:port`. */
  readonly address: string;
  /** User of the server's access list. @default the default user */
  readonly username?: string;
  /** Password, from a Secret in the namespace of the pods that connect. @default none */
  readonly password?: SecretRef;
  /** Encrypts the connection and checks the server's certificate. @default neither */
  readonly tls?: RedisTls;
}

export interface RedisTls {
  /** PEM bundle of the authorities that may sign the certificate, from a Secret. @default the public ones */
  readonly caCertificate?: SecretRef;
  /** Name that the certificate must be for. @default the host of the address */
  readonly serverName?: string;
}

const FOLDER = '/etc/redis';
const PASSWORD = 'password';
const AUTHORITIES = 'ca.crt';

/** The section of a configuration document that finds `server`. Secrets are named by file. */
export function redisSection({ address, username, password, tls }: RedisServer): NonNullable<RouterConfig['redis']> {
  return {
    address,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { passwordFile: `${FOLDER}/${PASSWORD}` }),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.caCertificate === undefined ? {} : { caFile: `${FOLDER}/${AUTHORITIES}` }),
            ...(tls.serverName === undefined ? {} : { serverName: tls.serverName }),
          },
        }),
  };
}

/** The files that `redisSection` names; none for a server without secrets. */
export function redisFiles({ password, tls }: RedisServer): readonly MountedFiles[] {
  const files = [
    ...(password === undefined ? [] : [{ path: PASSWORD, secret: password }]),
    ...(tls?.caCertificate === undefined ? [] : [{ path: AUTHORITIES, secret: tls.caCertificate }]),
  ];
  return files.length === 0 ? [] : [{ name: 'redis', folder: FOLDER, files }];
}
