import { RouterError } from '../errors';

/** What the router does on a path. */
export type PathUse =
  /** Sent to an endpoint; the body names the model. */
  | 'inference'
  /** Answered here from the routes. */
  | 'models';

/** A path that clients may use. */
export interface ApiPath {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly use: PathUse;
  /** Whether `stream_options` is a member of this path's bodies, so that the router may ask for usage there. */
  readonly takesStreamOptions: boolean;
  readonly dialect: 'openai' | 'anthropic';
  /** How a whole stream ends: a `[DONE]` line, a terminal event, or the connection's end alone. */
  readonly streamEnd: 'done-line' | 'message-stop' | 'response-event' | 'none';
}

const inference = (path: string, extra: Partial<ApiPath> = {}): ApiPath => ({
  path,
  method: 'POST',
  use: 'inference',
  takesStreamOptions: false,
  dialect: 'openai',
  streamEnd: 'none',
  ...extra,
});

/** Paths that every router serves. Engines' admin paths (adapter loading, sleep, reset) are not among them and never proxied. */
const BUILT_IN: readonly ApiPath[] = [
  inference('/v1/chat/completions', { takesStreamOptions: true, streamEnd: 'done-line' }),
  inference('/v1/completions', { takesStreamOptions: true, streamEnd: 'done-line' }),
  inference('/v1/responses', { streamEnd: 'response-event' }),
  inference('/v1/messages', { dialect: 'anthropic', streamEnd: 'message-stop' }),
  inference('/v1/messages/count_tokens', { dialect: 'anthropic' }),
  inference('/v1/embeddings'),
  inference('/v1/rerank'),
  inference('/v1/score'),
  inference('/tokenize'),
  inference('/detokenize'),
];

const MODELS: ApiPath = { ...inference('/v1/models'), method: 'GET', use: 'models' };

/** Finds what a request target means. */
export class ApiPaths {
  private readonly byPath: ReadonlyMap<string, ApiPath>;

  /** @param extra more inference paths, from the configuration. */
  constructor(extra: readonly string[] = []) {
    this.byPath = new Map([...BUILT_IN, MODELS, ...extra.map((path) => inference(path))].map((api) => [api.path, api]));
  }

  /** A request target that is, as it stands, a path of this table, as nearly all are. */
  findPlain(target: string): ApiPath | undefined {
    return this.byPath.get(target);
  }

  /**
   * @param path canonical.
   * @throws RouterError `unknown_path`, `method_not_allowed`.
   */
  find(method: string, path: string): ApiPath {
    const api = this.byPath.get(path) ?? (path.startsWith('/v1/models/') ? MODELS : undefined);
    if (api === undefined) throw new RouterError('unknown_path', `${printable(path)} is no path of this router`);
    if (api.method !== method)
      throw new RouterError('method_not_allowed', `${path} takes ${api.method}, not ${printable(method)}`);
    return api;
  }
}

/**
 * The canonical path of a request target: percent escapes decoded once, query cut off.
 *
 * @returns undefined when the path has an empty, `.` or `..` segment, an escaped slash, backslash, NUL or control character, or
 *   escapes that are no UTF-8; two readings of one path are how requests slip past a list of paths.
 */
export function canonicalPath(target: string): string | undefined {
  const query = target.indexOf('?');
  const raw = query === -1 ? target : target.slice(0, query);
  if (PLAIN.test(raw) && !raw.includes('//') && !raw.includes('/.')) return raw;
  if (!raw.startsWith('/') || /%(?:2f|5c)/i.test(raw)) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(raw);
  } catch {
    return undefined;
  }
  if (path.includes('\\') || hasControlCharacter(path)) return undefined;
  const segments = path.split('/').slice(1);
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return undefined;
  return path;
}

const PLAIN = /^\/[A-Za-z0-9_\-/.]*[A-Za-z0-9_-]$/;

function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** User input as it may stand in a message: short, printable ASCII. */
export function printable(text: string, limit = 100): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?');
  return clean.length <= limit ? clean : `${clean.slice(0, limit)}…`;
}
