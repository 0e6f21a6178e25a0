/** Which files are fetched: those that any `include` matches (all where there is none), less those that an `exclude` matches. */
export interface FilePatterns {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** @param path with slashes. */
export function isWanted(path: string, { include, exclude }: FilePatterns): boolean {
  const matches = (pattern: string): boolean => expressionOf(pattern).test(path);
  return (include.length === 0 || include.some(matches)) && !exclude.some(matches);
}

/** `*` and `?` match slashes too, as in Hugging Face's own patterns; one that ends with a slash means everything below. */
function expressionOf(pattern: string): RegExp {
  const whole = pattern.endsWith('/') ? `${pattern}*` : pattern;
  const source = whole
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}
