import { RE2JS } from 're2js';
import type { StringMatch } from '../../../src/api/model-route';

/** How compiling a condition ended. */
export type CompiledMatch =
  | { readonly kind: 'compiled'; readonly matches: (value: string) => boolean }
  | { readonly kind: 'invalid'; readonly message: string };

/**
 * Compiles a condition once (`exact`, else `prefix`, else an unanchored `regex`; none of them matches everything), so that matching costs no parsing. Regular expressions run in time linear in the value's length.
 *
 * @param match null or undefined matches everything, as an absent condition does.
 */
export function compileStringMatch(match: StringMatch | null | undefined): CompiledMatch {
  const { exact, prefix, regex } = match ?? {};
  if (present(exact)) return { kind: 'compiled', matches: (value) => value === exact };
  if (present(prefix)) return { kind: 'compiled', matches: (value) => value.startsWith(prefix) };
  if (!present(regex)) return { kind: 'compiled', matches: () => true };
  try {
    const pattern = RE2JS.compile(regex);
    return { kind: 'compiled', matches: (value) => pattern.matcher(value).find() };
  } catch (error) {
    return { kind: 'invalid', message: error instanceof Error ? error.message : String(error) };
  }
}

function present(text: string | undefined | null): text is string {
  return text !== undefined && text !== null;
}
