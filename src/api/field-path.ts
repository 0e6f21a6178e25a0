/** Dotted path of a field: `a.b[0].c`, with map keys that are no plain words in brackets and quotes. */
export function fieldPath(parent: string, ...segments: readonly (string | number)[]): string {
  let path = parent;
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(segment)) path += path === '' ? segment : `.${segment}`;
    else path += `[${JSON.stringify(segment)}]`;
  }
  return path;
}

/** The dotted path of a JSON pointer into `root`. */
export function pointerToPath(pointer: string, root: unknown): string {
  let path = '';
  let at = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path = fieldPath(path, Array.isArray(at) ? Number(key) : key);
    at = (at as Record<string, unknown> | undefined)?.[key];
  }
  return path;
}

/** What a JSON pointer points at in `root`. */
export function pointedAt(pointer: string, root: unknown): unknown {
  let at = root;
  for (const part of pointer.split('/').slice(1)) {
    at = (at as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return at;
}
