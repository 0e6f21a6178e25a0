import { readFile } from 'node:fs/promises';
import { Agent, fetch } from 'undici';

/** Gets the document of keys. Rejects when it cannot be had. */
export type FetchJwks = (signal: AbortSignal) => Promise<unknown>;

/** A set of keys is a few kilobytes. */
const MAX_BYTES = 2 ** 20;

/**
 * Fetches keys over HTTP. The file of authorities is read at each fetch, so that a renewed one counts without a restart.
 *
 * @param caFile PEM. @default Node's own authorities
 */
export function httpJwksFetcher(uri: string, caFile?: string): FetchJwks {
  return async (signal) => {
    const ca = caFile === undefined ? undefined : await readFile(caFile, { encoding: 'utf8', signal });
    const agent = new Agent({ maxResponseSize: MAX_BYTES, connect: ca === undefined ? {} : { ca } });
    try {
      const response = await fetch(uri, { dispatcher: agent, signal, headers: { accept: 'application/json' } });
      if (!response.ok) throw new Error(`status ${response.status}`);
      if (uri.startsWith('https:') && !response.url.startsWith('https:')) throw new Error('redirected to a URL without TLS');
      return await response.json();
    } finally {
      await agent.destroy();
    }
  };
}
