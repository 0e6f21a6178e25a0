import type { IncomingHttpHeaders } from 'node:http';
import type { SessionAffinity } from '../../../src/api/model-route';
import type { Identity } from '../admission/identity';

/** What of a request may name its session. */
export interface SessionInput {
  readonly headers: IncomingHttpHeaders;
  /** With its question mark, or empty. */
  readonly query: string;
  readonly identity: Identity;
}

/** The session that a request names; undefined for none. */
export function sessionNameOf({ source, name }: SessionAffinity, { headers, query, identity }: SessionInput): string | undefined {
  switch (source) {
    case 'header':
      return textOf(headers[name.toLowerCase()]);
    case 'cookie':
      return cookieOf(headers.cookie, name);
    case 'query':
      return textOf(new URLSearchParams(query).get(name));
    case 'claim':
      return textOf(Object.hasOwn(identity.claims, name) ? identity.claims[name] : undefined);
  }
}

/** The first cookie of that name (RFC 6265 §5.4: the one with the longest path). */
function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return textOf(pair.slice(equals + 1).trim());
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
