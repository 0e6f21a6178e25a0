import { KvasirError } from '../../../src/errors';
import type { Clock } from '../../lib/clock';
import { formatAddress, type ListenAddress } from '../../lib/http-listen';
import type { KvAnswer, KvEndpoint, KvFabric, KvMessage, KvReceiver, KvStore } from './kv-fabric';
import { KvStores } from './kv-stores';

interface Listener {
  readonly receive: KvReceiver;
  /** Loses each message that has no answer yet. */
  readonly open: Set<() => void>;
}

/** First of the ports that are given out when none is asked for. */
const FIRST_FREE_PORT = 49_152;

/** Engines of one process that find each other by address without sockets, so that a clock decides when everything happens. */
export class MemoryFabric implements KvFabric {
  private readonly listeners = new Map<string, Listener>();
  private readonly stores = new KvStores();
  private nextPort = FIRST_FREE_PORT;

  /** @param latencyMs one way. @default 0 */
  constructor(
    private readonly clock: Clock,
    private readonly latencyMs = 0,
  ) {}

  async listen({ host, port }: ListenAddress, receive: KvReceiver): Promise<KvEndpoint> {
    const address = { host, port: port === 0 ? this.nextPort++ : port };
    const key = formatAddress(address);
    if (this.listeners.has(key)) {
      throw new KvasirError({
        code: 'listen/address-in-use',
        field: 'simulated engine',
        message: `another simulated engine listens on ${key}`,
        remedy: 'give each its own host or port',
      });
    }
    const listener: Listener = { receive, open: new Set() };
    this.listeners.set(key, listener);
    return {
      ...address,
      close: () => {
        if (this.listeners.get(key) !== listener) return;
        this.listeners.delete(key);
        for (const lose of [...listener.open]) lose();
      },
    };
  }

  send(to: ListenAddress, message: KvMessage, onAnswer: (answer: KvAnswer | 'lost') => void): () => void {
    let isOpen = true;
    let gone = (): void => undefined;
    const answer = (value: KvAnswer | 'lost'): void => {
      this.clock.after(this.latencyMs, () => {
        if (!isOpen) return;
        isOpen = false;
        onAnswer(value);
      });
    };
    this.clock.after(this.latencyMs, () => {
      const listener = this.listeners.get(formatAddress(to));
      if (listener === undefined) return answer('lost');
      const lose = (): void => {
        listener.open.delete(lose);
        answer('lost');
      };
      listener.open.add(lose);
      listener.receive({
        message,
        answer: (value) => {
          if (listener.open.delete(lose)) answer(value);
        },
        whenGone: (callback) => {
          gone = callback;
        },
      });
    });
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.clock.after(this.latencyMs, () => gone());
    };
  }

  store(name: string): KvStore {
    return this.stores.store(name);
  }
}
