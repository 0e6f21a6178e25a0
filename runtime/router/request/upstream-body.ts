import type { ReadRequest } from '../request';
import type { Edit } from './splice';
import { splice } from './splice';

/**
 * The received bytes with the members changed that must change.
 *
 * @param upstreamModel model name that is sent. @param cacheSalt set as `cache_salt`, in a body of JSON. @default none is sent
 */
export function upstreamBody({ body, parsed }: ReadRequest, upstreamModel: string, cacheSalt?: string): Buffer {
  const { edits, model, modelSpan } = parsed;
  const isSalted = cacheSalt !== undefined && modelSpan?.isQuoted === true;
  if (modelSpan === undefined || (upstreamModel === model && !isSalted)) return splice(body, edits);
  const { start, end, isQuoted } = modelSpan;
  const changes: Edit[] = [...edits];
  if (upstreamModel !== model) changes.push({ start, end, text: isQuoted ? JSON.stringify(upstreamModel) : upstreamModel });
  if (isSalted) changes.push({ start: end, end, text: `,"cache_salt":${JSON.stringify(cacheSalt)}` });
  return splice(body, changes);
}
