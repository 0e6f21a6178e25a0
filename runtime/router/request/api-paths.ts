import { RouterError } from '../errors';

/** What the router does on a path. */
export type PathUse =
  /** Sent to an endpoint; the body names the model. */
  | 'inference'
  /** Sent to the pod that made the response; the path names it. */
  | 'response'
  /** Answered here from the routes. */
  | 'models';

/** A path that clients may use. */
export interface ApiPath {
  /** For metrics and log: `{id}` in place of what differs. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly use: PathUse;
  /** How the body names the model. */
  readonly body: 'json' | 'multipart' | 'none';
  /** Members of the body that make up its prompt, in the order in which templates of engines use them. */
  readonly prompt: readonly string[];
  /** Every member that the router reads; naming one twice is refused. */
  readonly reads: ReadonlySet<string>;
  /** Answers are kept by the pod that made them, and are named by `previous_response_id`. */
  readonly keepsResponses: boolean;
  /** Whether `stream_options` is a member of this path's bodies, so that the router may ask for usage there. */
  readonly takesStreamOptions: boolean;
  /** Engines that take `cache_salt` in this path's bodies, with the first release known to; `needless` where no KV is cached. */
  readonly cacheSalt: Readonly<Partial<Record<'vLLM' | 'SGLang', string>>> | 'needless';
  readonly dialect: 'openai' | 'anthropic';
  /** How a whole stream ends: a `[DONE]` line, a terminal event, or the connection's end alone. */
  readonly streamEnd: 'done-line' | 'message-stop' | 'response-event' | 'none';
}

/** What may be a prompt on a path that is not known better. */
const ANY_PROMPT = ['tools', 'system', 'instructions', 'messages', 'prompt', 'input', 'query', 'documents'] as const;

/** Members that bound the answer, the one that counts first. */
export const LIMIT_MEMBERS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const;

/** By the OpenAPI documents of vLLM 0.20.2 and 0.32.0 and SGLang 0.5.23; engines before them are taken to be like them. */
const ALL_ENGINES = { vLLM: '0', SGLang: '0' };
const NEW_VLLM = { vLLM: '0.32' };
const NO_ENGINE = {};

const inference = (path: string, extra: Partial<Omit<ApiPath, 'reads'>> = {}): ApiPath => {
  const prompt = extra.prompt ?? ANY_PROMPT;
  const more = extra.keepsResponses === true ? ['previous_response_id'] : [];
  return {
    path,
    method: 'POST',
    use: 'inference',
    body: 'json',
    keepsResponses: false,
    takesStreamOptions: false,
    cacheSalt: NO_ENGINE,
    dialect: 'openai',
    streamEnd: 'none',
    ...extra,
    prompt,
    reads: new Set(['model', 'stream', 'stream_options', ...LIMIT_MEMBERS, ...prompt, ...more]),
  };
};

/** Paths that every router serves. Engines' admin paths (adapter loading, sleep, reset) are not among them and never proxied. */
const BUILT_IN: readonly ApiPath[] = [
  inference('/v1/chat/completions', {
    prompt: ['tools', 'functions', 'documents', 'messages'],
    takesStreamOptions: true,
    cacheSalt: ALL_ENGINES,
    streamEnd: 'done-line',
  }),
  inference('/v1/completions', {
    prompt: ['prompt', 'suffix'],
    takesStreamOptions: true,
    cacheSalt: ALL_ENGINES,
    streamEnd: 'done-line',
  }),
  inference('/v1/responses', {
    prompt: ['tools', 'instructions', 'input'],
    keepsResponses: true,
    cacheSalt: ALL_ENGINES,
    streamEnd: 'response-event',
  }),
  inference('/v1/messages', {
    prompt: ['tools', 'system', 'messages'],
    cacheSalt: NEW_VLLM,
    dialect: 'anthropic',
    streamEnd: 'message-stop',
  }),
  inference('/v1/messages/count_tokens', {
    prompt: ['tools', 'system', 'messages'],
    cacheSalt: 'needless',
    dialect: 'anthropic',
  }),
  inference('/v1/embeddings', { prompt: ['messages', 'input'] }),
  inference('/v1/rerank', { prompt: ['query', 'documents'] }),
  inference('/v1/score', { prompt: ['text_1', 'text_2', 'queries', 'documents', 'items', 'data_1', 'data_2'] }),
  inference('/v1/audio/speech', { prompt: ['instructions', 'input'] }),
  inference('/v1/audio/transcriptions', { body: 'multipart', prompt: ['prompt'] }),
  inference('/v1/audio/translations', { body: 'multipart', prompt: ['prompt'] }),
  inference('/tokenize', { prompt: ['tools', 'messages', 'prompt'], cacheSalt: 'needless' }),
  inference('/detokenize', { prompt: ['tokens'], cacheSalt: 'needless' }),
];

const MODELS = inference('/v1/models', { method: 'GET', use: 'models', body: 'none', prompt: [] });

const response = (path: string, method: ApiPath['method']): ApiPath =>
  inference(path, { method, use: 'response', body: 'none', prompt: [], cacheSalt: 'needless', streamEnd: 'response-event' });

const RESPONSE_PREFIX = '/v1/responses/';
const RESPONSE_BY_ID = [response('/v1/responses/{id}', 'GET'), response('/v1/responses/{id}', 'DELETE')] as const;
const RESPONSE_CANCEL = [response('/v1/responses/{id}/cancel', 'POST')] as const;
const RESPONSE_PATH = /^\/v1\/responses\/[A-Za-z0-9_-]{1,128}(\/cancel)?$/;

/** The id in a path of use `response`. */
export function responseIdOf(path: string): string {
  const end = path.indexOf('/', RESPONSE_PREFIX.length);
  return end === -1 ? path.slice(RESPONSE_PREFIX.length) : path.slice(RESPONSE_PREFIX.length, end);
}

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
    const allowed = this.allowed(path);
    if (allowed.length === 0) throw new RouterError('unknown_path', `${printable(path)} is no path of this router`);
    const api = allowed.find((each) => each.method === method);
    if (api !== undefined) return api;
    const methods = allowed.map((each) => each.method).join(' or ');
    throw new RouterError('method_not_allowed', `${printable(path)} takes ${methods}, not ${printable(method)}`);
  }

  /** What a canonical path may be used for, by method; empty for one that is not served. */
  allowed(path: string): readonly ApiPath[] {
    const api = this.byPath.get(path);
    if (api !== undefined) return [api];
    if (path.startsWith('/v1/models/')) return [MODELS];
    const response = RESPONSE_PATH.exec(path);
    if (response === null) return [];
    return response[1] === undefined ? RESPONSE_BY_ID : RESPONSE_CANCEL;
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
