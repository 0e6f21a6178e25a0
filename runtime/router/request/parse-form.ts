import { RouterError } from '../errors';
import type { RequestHead } from '../request';
import { printable } from './api-paths';
import { isForbiddenMember, isGuardedMember } from './forbidden-members';
import { boundaryOf, type FormPart, readForm, textOfPart } from './multipart-form';
import { type ParsedBody, requireShortModel, SLICE_BYTES } from './parse-body';
import { estimateTokens } from './prompt-size';
import type { Edit } from './splice';

/** Bytes of a recording per token: MP3 of 128 kbit/s, and the 50 positions per second of Whisper's encoder. */
const BYTES_PER_AUDIO_TOKEN = 320;

/** What engines read as a boolean in a form. */
const TRUE: ReadonlySet<string> = new Set(['true', '1', 'on', 't', 'y', 'yes']);
const FALSE: ReadonlySet<string> = new Set(['false', '0', 'off', 'f', 'n', 'no', '']);

/**
 * Reads what the router acts on from a multipart form, as `parseBody` does from JSON.
 *
 * @param allowed guarded fields that stay. @param pause awaited between slices of a long body.
 * @throws RouterError `invalid_multipart`, `duplicate_member`, `missing_model`, `model_not_found`, `invalid_member`.
 */
export async function parseForm(
  { api, headers, rawHeaders }: Pick<RequestHead, 'api' | 'headers' | 'rawHeaders'>,
  body: Buffer,
  allowed: ReadonlySet<string> | undefined,
  pause: () => Promise<void>,
): Promise<ParsedBody> {
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type').length > 1) {
    throw new RouterError('invalid_multipart', 'the request has two content types');
  }
  const parts = await readForm(body, boundaryOf(headers['content-type']), SLICE_BYTES, pause);
  const read = new Map<string, FormPart>();
  const edits: Edit[] = [];
  const guarded: string[] = [];
  let fileBytes = 0;
  for (const part of parts) {
    // `name[key]` and `name[]` are ways to write a member of `name`.
    const base = part.name.split('[', 1)[0]!;
    const isForbidden = isForbiddenMember(base) && allowed?.has(base) !== true;
    if (api.reads.has(part.name) || isForbidden) {
      if (read.has(part.name)) {
        throw new RouterError('duplicate_member', `the form names ${printable(part.name)} twice`, part.name);
      }
      read.set(part.name, part);
    }
    if (isForbidden) {
      edits.push({ start: part.start, end: part.nextStart, text: '' });
      if (isGuardedMember(base)) guarded.push(base);
    } else if (part.isFile) fileBytes += part.valueEnd - part.valueStart;
  }
  const modelPart = read.get('model');
  const model = modelPart === undefined ? '' : textOfPart(body, modelPart);
  if (modelPart === undefined || model.trim() === '') throw new RouterError('missing_model', 'the form names no model', 'model');
  requireShortModel(model);
  const prompts = api.prompt.flatMap((name) => read.get(name) ?? []);
  const promptSpans = prompts.map(({ valueStart, valueEnd }) => body.subarray(valueStart, valueEnd));
  return {
    model,
    modelSpan: { start: modelPart.valueStart, end: modelPart.valueEnd, isQuoted: false },
    streams: booleanOf(body, read.get('stream')),
    wantsUsage: true,
    promptSpans,
    promptTokens: estimateTokens(promptSpans) + Math.ceil(fileBytes / BYTES_PER_AUDIO_TOKEN),
    edits,
    guarded,
  };
}

function booleanOf(body: Buffer, part: FormPart | undefined): boolean {
  if (part === undefined) return false;
  const text = textOfPart(body, part).toLowerCase();
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new RouterError('invalid_member', 'stream is neither true nor false', 'stream');
}
