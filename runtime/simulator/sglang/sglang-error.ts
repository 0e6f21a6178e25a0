import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/exchange';
import { pythonJson } from '../http/python-json';

/** A request that SGLang answers with an error body: flat on its OpenAI routes. */
export class SglangError extends Error {
  override readonly name = 'SglangError';

  constructor(
    message: string,
    readonly type = 'BadRequestError',
    readonly status = 400,
  ) {
    super(message);
  }

  send(response: ServerResponse): void {
    sendJson(response, this.status, this.body);
  }

  /** As `/generate` words what is wrong with a request. */
  sendNative(response: ServerResponse): void {
    sendJson(response, this.status, { error: { message: this.message } });
  }

  get body(): object {
    return { object: 'error', message: this.message, type: this.type, param: null, code: this.status };
  }
}

/** KV that did not arrive at decode, on every route. */
export function transferError(message: string): SglangError {
  return new SglangError(message, '500', 500);
}

/** The same as a stream's event. */
export function transferEvent(message: string): string {
  return pythonJson({ error: { object: 'error', message, type: 'INTERNAL_SERVER_ERROR', param: null, code: 500 } });
}

/** SGLang answers so while it ends. */
export const UNAVAILABLE = new SglangError('The server is shutting down.', 'ServiceUnavailable', 503);
