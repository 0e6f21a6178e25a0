import { createServer, request } from 'node:http';
import { type ListenAddress, listen } from '../../lib/http-listen';
import type { KvAnswer, KvEndpoint, KvFabric, KvMessage, KvPages, KvReceiver, KvStore } from './kv-fabric';
import { KvStores } from './kv-stores';

/** Path of messages; no engine has it. */
const MESSAGES = '/kvasir/kv';

/** Engines that find each other by host and port, in one process or several. A message is one HTTP exchange on a connection of its own. */
export class SocketFabric implements KvFabric {
  private readonly stores = new KvStores();

  async listen(address: ListenAddress, receive: KvReceiver, pages?: KvPages): Promise<KvEndpoint> {
    const server = createServer({ requestTimeout: 0 }, (incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.once('end', () => {
        const body = Buffer.concat(chunks);
        const target = incoming.url ?? '/';
        const page = !URL.canParse(target, 'http://engine')
          ? undefined
          : pages?.(incoming.method ?? 'GET', new URL(target, 'http://engine'), body.toString('utf8'));
        if (page !== undefined) {
          response.writeHead(page.status, { 'content-type': page.contentType }).end(page.body);
          return;
        }
        const message = incoming.method === 'POST' && incoming.url === MESSAGES ? parse<KvMessage>(body) : undefined;
        if (message === undefined) {
          response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404: Not Found');
          return;
        }
        receive({
          message,
          answer: (answer) => {
            response.end(JSON.stringify(answer));
          },
          whenGone: (callback) => {
            response.once('close', () => {
              if (!response.writableEnded) callback();
            });
          },
        });
      });
    });
    const bound = await listen(server, address, 'simulated engine');
    return {
      ...bound,
      close: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  }

  send({ host, port }: ListenAddress, message: KvMessage, onAnswer: (answer: KvAnswer | 'lost') => void): () => void {
    let isOpen = true;
    const settle = (answer: KvAnswer | 'lost'): void => {
      if (!isOpen) return;
      isOpen = false;
      onAnswer(answer);
    };
    const outgoing = request({ host, port, method: 'POST', path: MESSAGES, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => settle(parse<KvAnswer>(Buffer.concat(chunks)) ?? 'lost'));
      response.once('error', () => settle('lost'));
      response.once('close', () => settle('lost'));
    });
    outgoing.once('error', () => settle('lost'));
    outgoing.end(JSON.stringify(message));
    return () => {
      isOpen = false;
      outgoing.destroy();
    };
  }

  store(name: string): KvStore {
    return this.stores.store(name);
  }
}

/** Only engines of this simulator speak here; anything else is no message. */
function parse<T>(body: Buffer): T | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && 'kind' in value ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
