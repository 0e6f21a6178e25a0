import { type Dialect, type ErrorText, errorDocument } from '../errors';

interface WireError {
  readonly message?: unknown;
  readonly type?: unknown;
  readonly param?: unknown;
  readonly code?: unknown;
}

interface WireDocument extends WireError {
  readonly error?: unknown;
  readonly object?: unknown;
  readonly detail?: unknown;
}

/**
 * Reads what an engine's error body says. Engines have five shapes: `{"error":{…}}` (vLLM, OpenAI), `{"error":"…"}` (vLLM's key check),
 * `{"object":"error",…}` (SGLang), `{"type":"error","error":{…}}` (messages), `{"detail":…}` (their web framework); anything else is
 * taken as text.
 */
export function readEngineError(status: number, body: Buffer): ErrorText {
  const text = body.toString('utf8');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { ...ofStatus(status), message: plainText(text, status) };
  }
  const whole = (typeof document === 'object' && document !== null ? document : {}) as WireDocument;
  const inner = whole.error;
  if (typeof inner === 'string') return { ...ofStatus(status), message: inner };
  if (typeof inner === 'object' && inner !== null) return fromWire(status, inner as WireError, text);
  if (whole.object === 'error') return fromWire(status, whole, text);
  const detail = whole.detail;
  if (detail !== undefined) return { ...ofStatus(status), message: typeof detail === 'string' ? detail : JSON.stringify(detail) };
  return { ...ofStatus(status), message: plainText(text, status) };
}

/** The status that an error event names, when an engine answers 200 and then an error. */
export function statusOfErrorEvent(payload: string): number {
  const { code } = readEngineError(500, Buffer.from(payload));
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : 500;
}

/** The body that the client gets for an engine's error: the engine's own bytes when they are in the client's dialect already. */
export function translateEngineError(status: number, body: Buffer, dialect: Dialect): Buffer {
  const error = readEngineError(status, body);
  if (isInDialect(body, dialect)) return body;
  return Buffer.from(JSON.stringify(errorDocument(error, dialect)));
}

function isInDialect(body: Buffer, dialect: Dialect): boolean {
  try {
    const document = JSON.parse(body.toString('utf8')) as { type?: unknown; error?: { message?: unknown } | null } | null;
    if (typeof document?.error?.message !== 'string') return false;
    return dialect === 'anthropic' ? document.type === 'error' : document.type === undefined;
  } catch {
    return false;
  }
}

function fromWire(status: number, wire: WireError, text: string): ErrorText {
  const rest = ofStatus(status);
  return {
    status,
    message: typeof wire.message === 'string' ? wire.message : plainText(text, status),
    type: typeof wire.type === 'string' ? wire.type : rest.type,
    param: typeof wire.param === 'string' ? wire.param : null,
    code: typeof wire.code === 'string' || typeof wire.code === 'number' ? wire.code : null,
  };
}

function ofStatus(status: number): Omit<ErrorText, 'message'> {
  return { status, type: status >= 500 ? 'server_error' : 'invalid_request_error', param: null, code: status };
}

function plainText(text: string, status: number): string {
  const clean = text.trim().slice(0, 1_000);
  return clean === '' ? `the engine answered ${status}` : clean;
}
