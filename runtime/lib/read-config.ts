import { readFileSync } from 'node:fs';
import { type Finding, findingLine, KvasirError } from '../../src/errors';

/**
 * Reads a configuration file and hands back the first problem as an error; the others are named in its message.
 *
 * @throws KvasirError `config/cannot-read` when there is no such file, or the document's own finding.
 */
export function readConfig<T>(
  file: string,
  parse: (
    text: string,
    file: string,
  ) => { readonly kind: 'valid'; readonly config: T } | { readonly kind: 'invalid'; readonly findings: readonly Finding[] },
): T {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new KvasirError(
      {
        code: 'config/cannot-read',
        file,
        field: '--config',
        message: `cannot be read (${(error as NodeJS.ErrnoException).code})`,
        remedy: 'give a file that exists',
      },
      { cause: error },
    );
  }
  const decoded = parse(text, file);
  if (decoded.kind === 'valid') return decoded.config;
  const [first, ...rest] = decoded.findings;
  throw new KvasirError({ ...first!, message: [first!.message, ...rest.map(findingLine)].join('; also ') });
}
