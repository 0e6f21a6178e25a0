import type { CorsConfig } from '../../../src/config/request-config';
import type { ClientResponse } from '../relay/client-answer';
import { type ApiPaths, canonicalPath } from './api-paths';

/** Headers that browsers may show to pages. */
const EXPOSED = 'x-request-id, retry-after';

/** What browsers are told of pages from other origins. Credentials of the browser's own, such as cookies, are never allowed. */
export class Cors {
  private readonly origins: ReadonlySet<string>;
  private readonly isOpen: boolean;

  constructor(
    private readonly config: CorsConfig,
    private readonly paths: ApiPaths,
  ) {
    this.origins = new Set(config.origins);
    this.isOpen = this.origins.has('*');
  }

  /** Headers for an answer to a page, as name, value, name, value; the same for all where every origin is allowed. */
  headers(origin: string | undefined): readonly string[] {
    if (this.isOpen) return ['access-control-allow-origin', '*', 'access-control-expose-headers', EXPOSED];
    if (origin === undefined || !this.origins.has(origin)) return ['vary', 'origin'];
    return ['vary', 'origin', 'access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED];
  }

  /** Answers a preflight: asked before each request of a page, and before any credentials are sent. */
  preflight(target: string, origin: string | undefined, requestedHeaders: string | undefined, response: ClientResponse): void {
    const path = canonicalPath(target);
    const methods = path === undefined ? [] : this.paths.allowed(path).map(({ method }) => method);
    const headers = [...this.headers(origin), 'content-length', '0'];
    if (methods.length > 0) headers.push('access-control-allow-methods', methods.join(', '));
    if (requestedHeaders !== undefined && HEADER_LIST.test(requestedHeaders)) {
      headers.push('access-control-allow-headers', requestedHeaders);
    }
    headers.push('access-control-max-age', String(this.config.maxAgeSeconds));
    response.writeHead(methods.length > 0 ? 204 : 404, headers);
    response.end();
  }
}

/** Every header may be asked with: what passes on to engines is decided elsewhere. */
const HEADER_LIST = /^[a-z0-9-]+(?:, ?[a-z0-9-]+)*$/i;
