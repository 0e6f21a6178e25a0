import { BlockList, isIP, type Socket } from 'node:net';
import { KvasirError } from '../../../src/errors';

/** What proxies say of the client that they speak for. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'] as const;

/** Tells the words of the platform's own proxies from what anybody could write. */
export class TrustedProxies {
  private readonly list = new BlockList();
  private readonly bySocket = new WeakMap<Socket, string | undefined>();

  /** @throws KvasirError `config/invalid-value` for what is no address and no range. */
  constructor(ranges: readonly string[]) {
    ranges.forEach((range, index) => {
      try {
        const [address = '', prefix] = range.split('/');
        const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
        if (prefix === undefined) this.list.addAddress(address, family);
        else this.list.addSubnet(address, Number(prefix), family);
      } catch {
        throw new KvasirError({
          code: 'config/invalid-value',
          field: `trustedProxies[${index}]`,
          message: `${JSON.stringify(range)} is no address and no range`,
          remedy: 'write an address such as 10.0.0.1, or a range such as 10.0.0.0/8',
        });
      }
    });
  }

  /**
   * Headers that pass on, as name, value, name, value: the proxy's own, with its address added to `x-forwarded-for`.
   *
   * @returns undefined when the other end of the connection is no trusted proxy.
   */
  forwarded(socket: Socket, headers: Readonly<Record<string, string | readonly string[] | undefined>>): string[] | undefined {
    const peer = this.trustedPeer(socket);
    if (peer === undefined) return undefined;
    const passed: string[] = [];
    for (const name of FORWARDED) {
      const value = headers[name];
      if (typeof value !== 'string') continue;
      passed.push(name, name === 'x-forwarded-for' ? `${value}, ${peer}` : value);
    }
    if (headers['x-forwarded-for'] === undefined) passed.push('x-forwarded-for', peer);
    return passed;
  }

  private trustedPeer(socket: Socket): string | undefined {
    if (this.bySocket.has(socket)) return this.bySocket.get(socket);
    // On a dual-stack listener an IPv4 peer has an address like ::ffff:10.0.0.1.
    const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(address ?? '');
    const isTrusted = family !== 0 && this.list.check(address!, family === 6 ? 'ipv6' : 'ipv4');
    const peer = isTrusted ? address : undefined;
    this.bySocket.set(socket, peer);
    return peer;
  }
}
