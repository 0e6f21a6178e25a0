import { Agent, request } from 'undici';
import { authority } from '../../../src/expand/pod-address';
import type { FetchMetrics } from './scraper';

/** Pages above this are refused: the largest recorded page of an engine is below 100 KB, one with many adapters and ranks below 2 MB. */
const MAX_PAGE_BYTES = 8 * 2 ** 20;

/** Fetches metrics pages over HTTP, with connections of its own so that scrapes never wait behind requests. */
export function httpMetricsFetcher(): { readonly fetchMetrics: FetchMetrics; close(): Promise<void> } {
  // Below the 5 s after which engines close idle connections.
  const dispatcher = new Agent({ connections: 1, pipelining: 1, keepAliveTimeout: 4_000, keepAliveMaxTimeout: 4_000 });
  return {
    fetchMetrics: async (endpoint, signal) => {
      const response = await request(`http://${authority(endpoint)}/metrics`, { dispatcher, signal });
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
    },
    close: () => dispatcher.destroy(),
  };
}
