import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { KvasirError } from '../../../src/errors';
import { EndpointClients } from '../relay/endpoint-clients';

/** A new connection to a provider costs round trips over the Internet; load balancers there keep idle ones for a minute. */
const KEEP_ALIVE_MS = 30_000;

export interface ProviderClientsOptions {
  /** In real milliseconds, beneath the relay's own deadline. */
  readonly connectTimeoutMs: number;
  /** File of authorities that are trusted beside Node's, as PEM. */
  readonly caFile?: string | undefined;
}

/** Connections to providers: those whose certificates are checked, and those whose are not. */
export class ProviderClients {
  private readonly checked: EndpointClients;
  private readonly unchecked: EndpointClients;

  /** @throws KvasirError when the file of authorities cannot be read. */
  constructor({ connectTimeoutMs, caFile }: ProviderClientsOptions) {
    const tls = caFile === undefined ? {} : { ca: [...rootCertificates, authorities(caFile)] };
    this.checked = new EndpointClients(connectTimeoutMs, { tls, keepAliveMs: KEEP_ALIVE_MS });
    this.unchecked = new EndpointClients(connectTimeoutMs, { tls: { rejectUnauthorized: false }, keepAliveMs: KEEP_ALIVE_MS });
  }

  of({ insecureSkipVerify }: ExternalModelProvider['spec']): EndpointClients {
    return insecureSkipVerify ? this.unchecked : this.checked;
  }

  /** Ends connections to providers that are gone. @param ids of those that are there. */
  keep(ids: ReadonlySet<string>): void {
    for (const clients of [this.checked, this.unchecked]) {
      for (const id of clients.endpointIds()) if (!ids.has(id)) void clients.remove(id);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.checked.close(), this.unchecked.close()]);
  }
}

function authorities(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KvasirError(
      {
        code: 'config/provider-authorities',
        field: 'providers.caFile',
        message: `${file} cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
        remedy: 'name a file that the router may read, or leave it out',
      },
      { cause },
    );
  }
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new KvasirError({
    code: 'config/provider-authorities',
    field: 'providers.caFile',
    message: `${file} holds no certificate`,
    remedy: 'give certificates as PEM',
  });
}
