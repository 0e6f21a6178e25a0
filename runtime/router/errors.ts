/** The dialect in which a client expects errors. */
export type Dialect = 'openai' | 'anthropic';

interface ErrorKind {
  readonly status: number;
  /** `type` as OpenAI's clients know it. */
  readonly type: string;
  /** What the client can do; ends the message. */
  readonly remedy: string;
  /** `Retry-After` in seconds, on answers that are worth a later try. */
  readonly retryAfterSeconds?: number;
  /** `WWW-Authenticate`, on answers that ask for other credentials (RFC 6750). */
  readonly challenge?: string;
  /** `error_type` of metrics and access log, Kthena's name where it has one. */
  readonly reason: string;
  /** The access log's word, where Kthena has another one there than in its metrics. */
  readonly logType?: string;
  /** `code` of the answer, where clients know the situation by another name than ours. */
  readonly wireCode?: string;
}

const INVALID = 'invalid_request_error';

/** Every error that the router itself answers with. `docs/router.md` lists the same codes. */
export const ROUTER_ERRORS = {
  invalid_path: {
    status: 400,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'send a plain path without empty, dot or escaped segments',
  },
  unknown_path: {
    status: 404,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'use one of the OpenAI paths, such as /v1/chat/completions',
  },
  method_not_allowed: { status: 405, type: INVALID, reason: 'request_parsing', remedy: 'use the method that the path has' },
  invalid_json: { status: 400, type: INVALID, reason: 'request_parsing', remedy: 'send one JSON object' },
  invalid_utf8: {
    status: 400,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'send the body as UTF-8 without a byte order mark',
  },
  duplicate_member: { status: 400, type: INVALID, reason: 'request_parsing', remedy: 'name each member once' },
  invalid_member: { status: 400, type: INVALID, reason: 'request_parsing', remedy: 'give it a value of the right type' },
  too_deep: { status: 400, type: INVALID, reason: 'request_parsing', remedy: 'nest the body less deeply' },
  invalid_multipart: {
    status: 400,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'send a plain multipart/form-data body with one model field',
  },
  media_not_allowed: {
    status: 400,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'send it as a data URL, or from a host that the operator allows',
  },
  response_not_found: {
    status: 404,
    type: INVALID,
    reason: 'response_not_found',
    remedy: 'send the whole conversation in a new request',
  },
  // Status and code are OpenAI's: clients that know them send the whole conversation again.
  previous_response_not_found: {
    status: 400,
    type: INVALID,
    reason: 'response_not_found',
    remedy: 'send the whole conversation in a new request',
  },
  unsupported_encoding: {
    status: 415,
    type: INVALID,
    reason: 'request_parsing',
    remedy: 'send the body without content-encoding',
  },
  body_too_large: { status: 413, type: INVALID, reason: 'request_parsing', remedy: 'send a smaller body' },
  body_timeout: { status: 408, type: INVALID, reason: 'request_parsing', remedy: 'send the body faster' },
  body_budget: { status: 503, type: 'server_error', reason: 'overload', remedy: 'try again later', retryAfterSeconds: 1 },
  missing_credentials: {
    status: 401,
    type: INVALID,
    reason: 'authentication',
    remedy: 'send Authorization: Bearer with a token or an API key',
    challenge: 'Bearer realm="kvasir"',
  },
  invalid_api_key: {
    status: 401,
    type: INVALID,
    reason: 'authentication',
    remedy: 'send a key that is valid',
    challenge: 'Bearer realm="kvasir", error="invalid_token"',
  },
  invalid_token: {
    status: 401,
    type: INVALID,
    reason: 'authentication',
    remedy: 'get a new token from the issuer',
    challenge: 'Bearer realm="kvasir", error="invalid_token"',
  },
  auth_unavailable: {
    status: 503,
    type: 'server_error',
    reason: 'authentication',
    remedy: 'try again in a moment',
    retryAfterSeconds: 1,
  },
  model_not_allowed: { status: 403, type: INVALID, reason: 'authorization', remedy: 'name a model of /v1/models' },
  missing_model: { status: 400, type: INVALID, reason: 'request_parsing', remedy: 'name a model of /v1/models' },
  model_not_found: { status: 404, type: INVALID, reason: 'route_not_found', remedy: 'name a model of /v1/models' },
  route_not_found: {
    status: 404,
    type: INVALID,
    reason: 'route_not_found',
    remedy: 'send what a rule of the model’s route asks for',
  },
  guardrail_refused: {
    status: 400,
    type: INVALID,
    reason: 'guardrail',
    wireCode: 'content_filter',
    remedy: 'change what you ask for',
  },
  guardrail_unavailable: {
    status: 503,
    type: 'server_error',
    reason: 'guardrail',
    remedy: 'try again in a moment',
    retryAfterSeconds: 1,
  },
  backend_not_found: {
    status: 404,
    type: 'server_error',
    reason: 'pod_discovery',
    remedy: 'ask the operator to correct the route',
  },
  provider_path: {
    status: 400,
    type: INVALID,
    reason: 'request_protocol',
    remedy: 'use a path that the provider of this model has',
  },
  not_isolated: {
    status: 400,
    type: INVALID,
    reason: 'request_protocol',
    remedy: 'use /v1/chat/completions, /v1/completions or /v1/responses',
  },
  untranslatable: {
    status: 400,
    type: INVALID,
    reason: 'request_protocol',
    remedy: 'leave it out, or use the API that the provider of this model has',
  },
  provider_not_ready: {
    status: 503,
    type: 'server_error',
    reason: 'provider_config',
    remedy: 'ask the operator to look at /debug/findings of the router',
    retryAfterSeconds: 5,
  },
  provider_refused: {
    status: 502,
    type: 'server_error',
    reason: 'upstream_response',
    remedy: 'ask the operator to look at the credential of the provider',
  },
  provider_answer: {
    status: 502,
    type: 'server_error',
    reason: 'upstream_response',
    remedy: 'send the request again, and ask the operator whether the provider speaks the protocol that is configured',
  },
  input_rate_limit: {
    status: 429,
    type: 'tokens',
    reason: 'rate_limit',
    logType: 'input_rate_limit',
    wireCode: 'rate_limit_exceeded',
    remedy: 'wait as long as Retry-After says',
  },
  output_rate_limit: {
    status: 429,
    type: 'tokens',
    reason: 'rate_limit',
    logType: 'output_rate_limit',
    wireCode: 'rate_limit_exceeded',
    remedy: 'wait as long as Retry-After says',
  },
  request_rate_limit: {
    status: 429,
    type: 'requests',
    reason: 'rate_limit',
    wireCode: 'rate_limit_exceeded',
    remedy: 'wait as long as Retry-After says',
  },
  prompt_over_limit: {
    status: 429,
    type: 'tokens',
    reason: 'rate_limit',
    logType: 'input_rate_limit',
    wireCode: 'rate_limit_exceeded',
    remedy: 'send a shorter prompt; no wait makes this one fit',
  },
  not_ready: { status: 503, type: 'server_error', reason: 'overload', remedy: 'try again in a moment', retryAfterSeconds: 1 },
  overloaded: { status: 503, type: 'server_error', reason: 'overload', remedy: 'try again later', retryAfterSeconds: 1 },
  queue_full: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 1 },
  queue_timeout: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 1 },
  wait_too_long: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 1 },
  shed: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 1 },
  waking: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 30 },
  tenant_concurrency: {
    status: 429,
    type: 'requests',
    reason: 'rate_limit',
    wireCode: 'rate_limit_exceeded',
    remedy: 'wait for one of them to end',
    retryAfterSeconds: 1,
  },
  no_endpoints: { status: 503, type: 'server_error', reason: 'pod_discovery', remedy: 'try again later', retryAfterSeconds: 5 },
  no_capacity: { status: 503, type: 'server_error', reason: 'scheduling', remedy: 'try again later', retryAfterSeconds: 1 },
  quarantined: {
    status: 503,
    type: 'server_error',
    reason: 'quarantine',
    remedy: 'change the request; the same bytes stay refused for a while',
    retryAfterSeconds: 600,
  },
  upstream_unavailable: { status: 503, type: 'server_error', reason: 'proxy', remedy: 'try again', retryAfterSeconds: 1 },
  upstream_timeout: {
    status: 504,
    type: 'server_error',
    reason: 'upstream_timeout',
    remedy: 'try again, or send a smaller request',
  },
  upstream_lost: { status: 502, type: 'server_error', reason: 'upstream_lost', remedy: 'send the request again' },
  shutting_down: {
    status: 503,
    type: 'server_error',
    reason: 'shutdown',
    remedy: 'send the request again',
    retryAfterSeconds: 1,
  },
  client_closed: { status: 499, type: 'server_error', reason: 'client_closed', remedy: 'none is needed' },
  internal: { status: 500, type: 'server_error', reason: 'internal', remedy: 'send the request again and report its request id' },
} as const satisfies Record<string, ErrorKind>;

export type RouterErrorCode = keyof typeof ROUTER_ERRORS;

/** How a request ends when the router refuses it. */
export class RouterError extends Error {
  override readonly name = 'RouterError';
  readonly kind: ErrorKind;
  readonly retryAfterSeconds: number | undefined;

  /**
   * @param what one clause that says what is wrong; it never holds prompt text. @param param the member that is meant.
   * @param retryAfterSeconds when a later try is worth it. @default what the code's row says
   */
  constructor(
    readonly code: RouterErrorCode,
    what: string,
    readonly param: string | null = null,
    retryAfterSeconds?: number,
  ) {
    const kind: ErrorKind = ROUTER_ERRORS[code];
    super(`${what}; ${kind.remedy}`);
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds ?? kind.retryAfterSeconds;
  }

  get status(): number {
    return this.kind.status;
  }
}

/** Whatever was thrown, as an error that a client may see: nothing of an unexpected error's text leaves the router. */
export function toRouterError(error: unknown): RouterError {
  return error instanceof RouterError ? error : new RouterError('internal', 'the router failed on this request');
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
};

/** What an error says, in no dialect yet. */
export interface ErrorText {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | number | null;
}

/** The JSON document of an error in the client's dialect. */
export function errorDocument(error: ErrorText, dialect: Dialect): object {
  if (dialect === 'anthropic') {
    const type = ANTHROPIC_TYPES[error.status] ?? (error.status >= 500 ? 'api_error' : 'invalid_request_error');
    return { type: 'error', error: { type, message: error.message } };
  }
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code } };
}

export function textOf(error: RouterError): ErrorText {
  return {
    status: error.status,
    message: error.message,
    type: error.kind.type,
    param: error.param,
    code: error.kind.wireCode ?? error.code,
  };
}
