import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/exchange';

/** A request that SGLang's OpenAI routes answer with an error body, which is flat. */
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

  get body(): object {
    return { object: 'error', message: this.message, type: this.type, param: null, code: this.status };
  }
}
