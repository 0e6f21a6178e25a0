import type { AddressInfo, Server } from 'node:net';
import { KvasirError } from '../../src/errors';

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0..65535; 0 takes a free one. */
  readonly port: number;
}

/**
 * Opens `server` on an address.
 *
 * @param flag how the user named the address, such as `--listen`.
 * @returns the address that it really has.
 * @throws KvasirError `listen/address-in-use`, `listen/not-allowed` or `listen/failed`.
 */
export function listen(server: Server, address: ListenAddress, flag: string): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off('listening', onListening);
      reject(listenError(error, address, flag));
    };
    const onListening = (): void => {
      server.off('error', onError);
      const bound = server.address() as AddressInfo;
      resolve({ host: bound.address, port: bound.port });
    };
    server.once('error', onError);
    server.once('listening', onListening);
    server.listen({ host: address.host, port: address.port, backlog: 1024 });
  });
}

/** `host:port` as people write it. */
export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Reads `host:port`, `:port` (every address) or `[v6]:port`.
 *
 * @throws KvasirError `listen/bad-address` naming the flag.
 */
export function parseListenAddress(text: string, flag: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new KvasirError({
      code: 'listen/bad-address',
      field: flag,
      message: `${JSON.stringify(text)} is no address to listen on`,
      remedy: 'write host:port, such as 127.0.0.1:8080',
    });
  }
  return { host: match[1] ?? (match[2] === '' ? '0.0.0.0' : match[2]!), port };
}

function listenError(error: NodeJS.ErrnoException, address: ListenAddress, flag: string): KvasirError {
  const where = formatAddress(address);
  const options = { cause: error };
  if (error.code === 'EADDRINUSE') {
    return new KvasirError(
      {
        code: 'listen/address-in-use',
        field: flag,
        message: `another process listens on ${where}`,
        remedy: 'stop it, or give another host:port',
      },
      options,
    );
  }
  if (error.code === 'EACCES' || error.code === 'EPERM') {
    return new KvasirError(
      {
        code: 'listen/not-allowed',
        field: flag,
        message: `this user may not listen on ${where}`,
        remedy: 'take a port above 1023',
      },
      options,
    );
  }
  return new KvasirError(
    {
      code: 'listen/failed',
      field: flag,
      message: `cannot listen on ${where} (${error.code ?? error.message})`,
      remedy: 'give an address of this machine',
    },
    options,
  );
}
