import { RouterError } from '../errors';
import type { IncomingRequest, RequestHead } from '../request';
import { type ApiPaths, canonicalPath } from './api-paths';

/**
 * Judges a request by its request line and headers alone.
 *
 * @param credential lower-case name of a header that ends here, as the client's Authorization does; it is in `headers` only.
 * @throws RouterError `invalid_path`, `unknown_path`, `method_not_allowed`, `unsupported_encoding`.
 */
export function readHead({ message, trace }: IncomingRequest, paths: ApiPaths, credential?: string): RequestHead {
  const target = message.url ?? '/';
  const method = message.method ?? '';
  const plain = paths.findPlain(target);
  const path = plain === undefined ? canonicalPath(target) : target;
  if (path === undefined) throw new RouterError('invalid_path', 'the path is not canonical');
  const api = plain?.method === method ? plain : paths.find(method, path);
  trace.path = api.path;
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new RouterError('unsupported_encoding', 'the body is compressed');
  }
  const transfer = message.headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    throw new RouterError('unsupported_encoding', 'the body has a transfer-encoding other than chunked');
  }
  const query = target.indexOf('?');
  const { headers } = message;
  const rawHeaders =
    credential === undefined || headers[credential] === undefined
      ? message.rawHeaders
      : withoutHeader(message.rawHeaders, credential);
  return { api, path, query: query === -1 ? '' : target.slice(query), headers, rawHeaders };
}

function withoutHeader(rawHeaders: readonly string[], name: string): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.toLowerCase() !== name) kept.push(rawHeaders[index]!, rawHeaders[index + 1]!);
  }
  return kept;
}
