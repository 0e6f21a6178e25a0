import { execFileSync } from 'node:child_process';

const VARIABLE = 'KVASIR_OTHER_NODE';

/**
 * The Node program that the environment names, of another major version than this one.
 *
 * @returns undefined when none is named, which is said in one line, and is an error under CI.
 * @throws Error when it is of the same major version, which would compare nothing.
 */
export function otherNode(): string | undefined {
  const program = process.env[VARIABLE];
  if (program === undefined) {
    if (process.env.CI !== undefined) throw new Error(`${VARIABLE} is not set: give the path of another Node program`);
    process.stderr.write(`skipped: set ${VARIABLE} to the path of another Node program to compare with it\n`);
    return undefined;
  }
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  if (majorOf(version) === majorOf(process.version))
    throw new Error(`${VARIABLE} names Node ${version}; give another major version`);
  return program;
}

const majorOf = (version: string): string | undefined => /^v(\d+)\./.exec(version)?.[1];
