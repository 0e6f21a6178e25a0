import { request } from 'undici';
import type { EngineTls } from '../listener/router-tls';
import { engineAgent, engineOrigin } from './engine-agent';
import type { FetchModels } from './model-lists';
import type { FetchMetrics } from './scraper';

/** Pages above this are refused: the largest recorded page of an engine is below 100 KB, one with many adapters and ranks below 2 MB. */
const MAX_PAGE_BYTES = 8 * 2 ** 20;

const NODE_AUTHORITIES: EngineTls = {};

/** Fetches what engines tell over HTTP, with connections of its own so that scrapes never wait behind requests. @param tls of https engines. */
export function httpMetricsFetcher(tls: () => EngineTls = () => NODE_AUTHORITIES): {
  readonly fetchMetrics: FetchMetrics;
  /** What the engine lists at `/v1/models`. */
  readonly fetchModels: FetchModels;
  close(): Promise<void>;
} {
  // Below the 5 s after which engines close idle connections.
  const dispatcher = engineAgent({ connections: 1, pipelining: 1, keepAliveTimeout: 4_000, keepAliveMaxTimeout: 4_000 }, tls);
  const fetchPage =
    (path: string): FetchMetrics =>
    async (endpoint, signal) => {
      const response = await request(`${engineOrigin(endpoint)}${path}`, { dispatcher, signal });
      if (response.statusCode !== 200) {
        await response.body.dump();
        throw new Error(`status ${response.statusCode}`);
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of response.body) {
        bytes += (chunk as Buffer).length;
        if (bytes > MAX_PAGE_BYTES) throw new Error('page too large');
        chunks.push(chunk as Buffer);
      }
      return Buffer.concat(chunks).toString('utf8');
    };
  return { fetchMetrics: fetchPage('/metrics'), fetchModels: fetchPage('/v1/models'), close: () => dispatcher.destroy() };
}
