const PATTERN =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;

/** What a module imports by name, types included, from the text of a `.ts`, `.d.ts` or `.js` file. */
export function importSpecifiers(text: string): string[] {
  return [...text.matchAll(PATTERN)].map((match) => (match[1] ?? match[2] ?? match[3])!);
}

/** `@scope/name` or `name`, of a specifier such as `@scope/name/part`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
