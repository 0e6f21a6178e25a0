import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExitStatus } from '../../../runtime/cli/exit-status';
import { createProgram } from '../../../runtime/cli/main';
import { runCli } from '../../helpers/run-cli';

const page = readFileSync(join(__dirname, '../../../docs/cli.md'), 'utf8');
const { commands } = createProgram(new AbortController().signal, new ExitStatus());

/** Flags in the tables of each `## kvasir <command>` section. */
const documented = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [
      /^`kvasir ([a-z]+)`/.exec(section)![1]!,
      [...section.matchAll(/^\| `(-[^`]+)` \|/gm)].map(([, flag]) => flag!).sort(),
    ]),
);

describe('docs/cli.md', () => {
  it('has a section for every command and for no other', () => {
    expect([...documented.keys()].sort()).toEqual(commands.map((command) => command.name()).sort());
  });

  it.each(commands.map((command) => [command.name(), command] as const))('lists the flags of %s as they are', (name, command) => {
    expect(documented.get(name)).toEqual(command.options.map(({ flags }) => flags).sort());
  });
});

describe('the command line', () => {
  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(__dirname, '../../../package.json'), 'utf8'));
    expect(await runCli('--version')).toMatchObject({ code: 0, lines: [version] });
  });

  it.each([
    ['a command that is misspelt', ['snyth'], "error: unknown command 'snyth' (Did you mean synth?)"],
    ['a flag that is misspelt', ['cost', 'x', '--jsno'], "error: unknown option '--jsno' (Did you mean --json?)"],
    ['an argument that is missing', ['cost'], "error: missing required argument 'folder|files'"],
    ['an argument too many', ['init', 'here'], /^error: too many arguments for 'init'/],
  ])('answers %s with one line and 2', async (_, argv, line) => {
    const run = await runCli(...argv);
    expect(run.code).toBe(2);
    expect(run.lines).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
  });
});
