import { RouterError, type RouterErrorCode } from '../../errors';

const LONGEST_RETRY_SECONDS = 600;

/** Why a request does not wait, or no longer. @param afterMs when there is expected to be room for it. */
export function queueRefusal(code: RouterErrorCode, what: string, afterMs: number): RouterError {
  const seconds = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(afterMs / 1000)));
  return new RouterError(code, what, null, seconds);
}
