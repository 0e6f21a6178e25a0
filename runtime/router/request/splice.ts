/** A change of a body: the bytes `[start, end)` become `text`. Edits of one body never overlap. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** `body` with `edits` applied; every other byte is copied as it is. The body itself when there are none. */
export function splice(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  const ordered = edits.length === 1 ? edits : [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  let size = body.length;
  for (const edit of ordered) size += Buffer.byteLength(edit.text) - (edit.end - edit.start);
  const result = Buffer.allocUnsafe(size);
  let from = 0;
  let to = 0;
  for (const edit of ordered) {
    to += body.copy(result, to, from, edit.start);
    to += result.write(edit.text, to);
    from = edit.end;
  }
  body.copy(result, to, from);
  return result;
}
