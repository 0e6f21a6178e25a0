import { parse } from 'yaml';
import type { Finding } from '../errors';

/** How reading a document's text ended; `findings` are those of the text or of the decoder. */
type Parsed<Decoded> = Decoded | { readonly kind: 'invalid'; readonly findings: readonly Finding[] };

/**
 * Reads a configuration document written as YAML or JSON and decodes it.
 *
 * @param file named in findings.
 */
export function parseDocument<Decoded>(
  text: string,
  file: string | undefined,
  decode: (document: unknown, file?: string) => Decoded,
): Parsed<Decoded> {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    const finding: Finding = {
      ...(file === undefined ? {} : { file }),
      code: 'config/malformed-yaml',
      severity: 'error',
      message: `is not YAML: ${(error instanceof Error ? error.message : String(error)).split('\n')[0]}`,
      remedy: 'correct the document',
    };
    return { kind: 'invalid', findings: [finding] };
  }
  return decode(document, file);
}
