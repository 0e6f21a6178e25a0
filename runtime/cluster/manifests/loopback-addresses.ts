import { createServer } from 'node:net';

/** Hands out one loopback address per pod. */
export interface LoopbackAddresses {
  /** Whether each pod has an address of its own; else all share 127.0.0.1 and each needs ports of its own. */
  readonly isOwn: boolean;
  take(): string;
  /** An address is handed out again only when all others were: what still names a dead pod must not reach a new one. */
  giveBack(address: string): void;
}

// 127.64.0.1 … 127.127.255.254, without last parts 0 and 255, which some tools refuse; away from 127.0.0.0/16, where resolvers
// and the like listen.
const PER_BLOCK = 254;
const COUNT = 64 * 256 * PER_BLOCK;

/**
 * Linux answers on all of 127.0.0.0/8; macOS on 127.0.0.1 only. Which one this system does is found by binding an address.
 *
 * @param start which address comes first, 0 to 4161535; two processes of one machine should differ, such as by their process id.
 * @param count how many addresses, from the first on, are used.
 */
export async function loopbackAddresses(start = 0, count = COUNT): Promise<LoopbackAddresses> {
  if (!(await canBind(addressAt(start % count)))) {
    return { isOwn: false, take: () => '127.0.0.1', giveBack: () => undefined };
  }
  const taken = new Set<string>();
  let next = start;
  return {
    isOwn: true,
    take() {
      for (let tries = 0; tries < count; tries++) {
        const address = addressAt(next++ % count);
        if (taken.has(address)) continue;
        taken.add(address);
        return address;
      }
      throw new RangeError(`all ${count} loopback addresses are in use`);
    },
    giveBack: (address) => {
      taken.delete(address);
    },
  };
}

function addressAt(index: number): string {
  const block = Math.floor(index / PER_BLOCK);
  return `127.${64 + (block >> 8)}.${block & 255}.${1 + (index % PER_BLOCK)}`;
}

function canBind(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(0, address, () => server.close(() => resolve(true)));
  });
}
