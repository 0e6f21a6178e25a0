import { type Dialect, errorDocument, type RouterError, textOf } from '../errors';
import type { IncomingRequest } from '../request';

/** Answers with an error of the router's own, in the client's dialect; an answer that began already can only be cut. */
export function refuse({ answer, trace, message }: IncomingRequest, error: RouterError): void {
  trace.status = error.status;
  trace.errorType = error.kind.reason;
  trace.logType = error.kind.logType;
  trace.errorMessage = error.message;
  if (answer.isClosed) return;
  // What the client of a held stream saw is the status that it was held with.
  if (answer.isPromised) trace.status = 200;
  if (answer.isBegun || error.code === 'client_closed') {
    answer.cut();
    return;
  }
  const headers = ['content-type', 'application/json'];
  if (error.retryAfterSeconds !== undefined) headers.push('retry-after', String(error.retryAfterSeconds));
  if (error.kind.challenge !== undefined) headers.push('www-authenticate', error.kind.challenge);
  // The rest of a body that nobody will read would otherwise have to be taken before the next request.
  if (!message.complete || message.isPaused()) answer.addHeader('connection', 'close');
  answer.whole(error.status, headers, Buffer.from(JSON.stringify(errorDocument(textOf(error), dialectOf(message.url)))));
}

/** Errors may come before the path is known to be one of ours. */
function dialectOf(url: string | undefined): Dialect {
  return url?.startsWith('/v1/messages') === true ? 'anthropic' : 'openai';
}
