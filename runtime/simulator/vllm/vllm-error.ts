import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/exchange';
import type { VllmDialect } from './dialect';

/** A request that vLLM answers with an error body. */
export class VllmError extends Error {
  override readonly name = 'VllmError';

  constructor(
    readonly status: number,
    message: string,
    readonly type: string,
    readonly param: string | null = null,
    /** Raised while serving rather than returned: 0.20 then answers outside of the layer that sets `vary`. */
    readonly isRaised = type === 'BadRequestError' || type === 'InternalServerError',
  ) {
    super(message);
  }

  get body(): object {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } };
  }

  /** The same as a stream's event, which Python's serializer writes with spaces. */
  get eventData(): string {
    const { message, type, param, status } = this;
    return `{"error": {"message": ${JSON.stringify(message)}, "type": ${JSON.stringify(type)}, "param": ${JSON.stringify(param)}, "code": ${status}}}`;
  }
}

export function badRequest(message: string): VllmError {
  return new VllmError(400, message, 'BadRequestError');
}

/** A parameter whose value vLLM refuses; the message names it, and its value when `shown` is given. */
export function badParameter(message: string, param: string, shown?: string): VllmError {
  return new VllmError(
    400,
    `${message} (parameter=${param}${shown === undefined ? '' : `, value=${shown}`})`,
    'BadRequestError',
    param,
  );
}

export function modelNotFound(model: string, aliases: readonly string[], listsAliases: boolean): VllmError {
  const list = listsAliases ? ` Valid aliases: ${aliases.join(', ')}.` : '';
  return new VllmError(404, `The model \`${model}\` does not exist.${list}`, 'NotFoundError', 'model');
}

export const ENGINE_DEAD = new VllmError(
  500,
  'EngineCore encountered an issue. See stack trace (above) for the root cause.',
  'InternalServerError',
);

/** What a request gets whose KV did not arrive. */
export const LOAD_FAILED = new VllmError(500, 'Internal server error', 'InternalServerError');

export const SHUTTING_DOWN = new VllmError(500, 'cannot schedule new futures after shutdown', 'InternalServerError');

export function sendError(response: ServerResponse, error: VllmError, dialect: VllmDialect): void {
  sendJson(response, error.status, error.body, !dialect.isRecent && error.isRaised ? { vary: undefined } : {});
}

/** A number as Python writes a float. */
export function pythonNumber(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
