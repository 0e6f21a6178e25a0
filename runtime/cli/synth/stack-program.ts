import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { KvasirError } from '../../../src/errors';
import { SynthVariables } from '../../../src/synth-report';

/** What to run, and where its output goes. */
export interface StackProgram {
  /** Command line, run by a shell in the project's folder. */
  readonly app: string;
  /** Output folder, relative to the project's folder. */
  readonly output: string;
}

const SETTINGS_FILE = 'cdk8s.yaml';

/**
 * The stack of the project in `folder`: what flags say, else cdk8s's own settings file; the output folder also by CDK8S_OUTDIR.
 *
 * @throws KvasirError when nothing says what to run.
 */
export function stackProgram(
  folder: string,
  flags: { readonly app?: string; readonly output?: string },
  env: Readonly<Record<string, string | undefined>>,
): StackProgram {
  const settings = readSettings(join(folder, SETTINGS_FILE));
  const app = flags.app ?? settings.app;
  if (app === undefined) {
    throw new KvasirError({
      code: 'cli/no-app',
      file: SETTINGS_FILE,
      field: 'app',
      message: 'does not say how the stack is run',
      remedy: `write "app: npx tsx main.ts" there, or give --app "npx tsx main.ts"`,
    });
  }
  return { app, output: flags.output ?? env[SynthVariables.outputFolder] ?? settings.output ?? 'dist' };
}

function readSettings(file: string): { readonly app?: string; readonly output?: string } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  let settings: unknown;
  try {
    settings = parse(text);
  } catch (error) {
    throw malformed((error as Error).message.split('\n')[0]!);
  }
  if (settings === null || settings === undefined) return {};
  if (typeof settings !== 'object' || Array.isArray(settings)) throw malformed('it is no mapping');
  const { app, output } = settings as { readonly app?: unknown; readonly output?: unknown };
  for (const [field, value] of Object.entries({ app, output })) {
    if (value !== undefined && typeof value !== 'string') throw malformed(`${field} is no text`);
  }
  return settings as { readonly app?: string; readonly output?: string };
}

function malformed(message: string): KvasirError {
  return new KvasirError({
    code: 'cli/settings',
    file: SETTINGS_FILE,
    message,
    remedy: 'write it as "app: npx tsx main.ts", or remove it and give --app',
  });
}
