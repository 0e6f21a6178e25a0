import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { PrometheusServerConfig } from '../../../src/config/prometheus-server-config';
import type { ReadOptions } from './http-reader';

export type Access =
  | { readonly kind: 'usable'; readonly options: ReadOptions }
  | { readonly kind: 'unusable'; readonly reason: string };

interface Connections {
  /** Contents of the files that they were made with. */
  readonly made: string;
  readonly agent: Agent;
}

/**
 * Credentials for Prometheus servers. They go to servers of the configuration only, whatever a policy names. Files are read for each query, so
 * that a token or certificate that was renewed is used at once.
 */
export class PrometheusAccess {
  private readonly connections = new Map<PrometheusServerConfig, Connections>();

  constructor(private readonly servers: readonly PrometheusServerConfig[]) {}

  /** How `serverURL` is asked; the most exact entry of the configuration counts. */
  async of(serverURL: string): Promise<Access> {
    const [server] = this.servers
      .filter((each) => isWithin(serverURL, each.serverURL))
      .sort((a, b) => b.serverURL.length - a.serverURL.length);
    if (server === undefined) return { kind: 'usable', options: {} };
    try {
      const [token, ca, cert, key] = await Promise.all(
        [server.bearerTokenFile, server.caFile, server.certFile, server.keyFile].map((path) =>
          path === undefined ? undefined : readFile(path, 'utf8'),
        ),
      );
      const options = {
        agent: this.agentFor(server, { ca, cert, key }),
        ...(token !== undefined && { headers: { authorization: `Bearer ${token.trim()}` } }),
      };
      return { kind: 'usable', options };
    } catch (error) {
      const { message } = error as Error;
      return { kind: 'unusable', reason: `credentials for Prometheus at ${server.serverURL} cannot be used: ${message}` };
    }
  }

  async close(): Promise<void> {
    for (const { agent } of this.connections.values()) agent.destroy();
    this.connections.clear();
  }

  private agentFor(
    server: PrometheusServerConfig,
    tls: { readonly ca: string | undefined; readonly cert: string | undefined; readonly key: string | undefined },
  ): Agent {
    const made = JSON.stringify(tls);
    const known = this.connections.get(server);
    if (known?.made === made) return known.agent;
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    const kept = { keepAlive: true, timeout: KEPT_MS };
    const agent = server.serverURL.startsWith('https:') ? new TlsAgent({ ...kept, ...given }) : new Agent(kept);
    this.connections.set(server, { made, agent });
    // Requests under way end before their connections do.
    for (const idle of Object.values(known?.agent.freeSockets ?? {}).flat()) idle?.destroy();
    return agent;
  }
}

/** How long a connection may be idle; Prometheus and proxies before it keep theirs longer. */
const KEPT_MS = 4000;

/** Whether `url` is `base` or below it: the same origin, and the same path or one under it. */
function isWithin(url: string, base: string): boolean {
  const [asked, known] = [parsed(url), parsed(base)];
  if (asked === undefined || known === undefined || asked.origin !== known.origin) return false;
  const path = known.pathname.replace(/\/+$/, '');
  return asked.pathname === path || asked.pathname.startsWith(`${path}/`);
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
