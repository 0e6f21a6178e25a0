import { createServer } from 'node:net';
import { loopbackAddresses } from '../../../../runtime/cluster/manifests/loopback-addresses';

describe('loopback addresses', () => {
  it('are each handed out once, all of 127.0.0.0/8, and can be listened on', async () => {
    const addresses = await loopbackAddresses();
    if (!addresses.isOwn) {
      expect([addresses.take(), addresses.take()]).toEqual(['127.0.0.1', '127.0.0.1']);
      return;
    }
    const taken = Array.from({ length: 600 }, () => addresses.take());
    expect(taken.slice(0, 3)).toEqual(['127.64.0.1', '127.64.0.2', '127.64.0.3']);
    expect(taken.slice(253, 255)).toEqual(['127.64.0.254', '127.64.1.1']);
    expect(new Set(taken).size).toBe(600);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, taken[599], resolve));
    await new Promise((resolve) => server.close(resolve));
  });

  it('that were given back come again only after all others, and those in use never', async () => {
    const addresses = await loopbackAddresses(2, 3);
    if (!addresses.isOwn) return expect(addresses.take()).toBe('127.0.0.1');
    expect([addresses.take(), addresses.take()]).toEqual(['127.64.0.3', '127.64.0.1']);
    addresses.giveBack('127.64.0.3');
    expect([addresses.take(), addresses.take()]).toEqual(['127.64.0.2', '127.64.0.3']);
    addresses.giveBack('127.64.0.2');
    expect(addresses.take()).toBe('127.64.0.2');
    expect(() => addresses.take()).toThrow('all 3 loopback addresses are in use');
  });

  it('end before 127.128.0.0', async () => {
    const addresses = await loopbackAddresses(64 * 256 * 254 - 1);
    if (!addresses.isOwn) return expect(addresses.take()).toBe('127.0.0.1');
    expect([addresses.take(), addresses.take()]).toEqual(['127.127.255.254', '127.64.0.1']);
  });
});
