import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../../../../runtime/cli/main';
import { FIXTURES } from '../../../helpers/example-objects';
import { temporaryFolders } from '../../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
let standardOutput: string;
let standardError: string;

beforeEach(() => {
  standardOutput = '';
  standardError = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    standardOutput += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    standardError += String(text);
    return true;
  });
});
afterEach(() => jest.restoreAllMocks());

const example = (name: string): string => join(FIXTURES, 'kthena-examples/kthena-router', name);

describe('kvasir migrate', () => {
  it('prints the program, and nothing else, on standard output', async () => {
    expect(await main(['migrate', example('ModelServer-ds7b.yaml'), example('ModelRouteLora.yaml')])).toBe(0);
    expect(standardOutput).toMatch(
      /^import \{ Chart \} from 'cdk8s';\n[\s\S]*\nconst deepseekR17b = new ModelServer\([\s\S]*\napp\.synth\(\);\n$/,
    );
    expect(standardError).toBe('');
  });

  it('prints one document with --json', async () => {
    expect(await main(['migrate', '--json', example('ModelServer-ds7b.yaml')])).toBe(0);
    expect(JSON.parse(standardOutput)).toEqual({
      program: expect.stringContaining('new ModelServer('),
      objects: 1,
      findings: [],
    });
  });

  it.each<[string, string, readonly RegExp[]]>([
    [
      'an invalid object',
      '{ apiVersion: networking.serving.volcano.sh/v1alpha1, kind: ModelRoute, metadata: { name: r }, spec: {} }',
      [/^error: .*a\.yaml:1: ModelRoute default\/r: spec\.rules: .*\]$/, /^error: .*\[migrate\/invalid-manifests\]$/],
    ],
    ['malformed YAML', 'a: [', [/malformed/, /invalid-manifests/]],
    ['nothing to migrate', '# nothing', [/no-manifests|invalid-manifests/]],
  ])('%s: a line each, no program, status 1', async (_, text, lines) => {
    const file = join(temporaryFolder(), 'a.yaml');
    writeFileSync(file, text);
    expect(await main(['migrate', file])).toBe(1);
    expect(standardOutput).toBe('');
    expect(standardError.trim().split('\n')).toEqual(lines.map((line) => expect.stringMatching(line)));
  });

  it('a file that is not there is one line', async () => {
    expect(await main(['migrate', 'no/such.yaml'])).toBe(1);
    expect(standardError).toMatch(
      /^error: no\/such\.yaml: there is no such file or folder; check the path \[manifest\/unreadable\]\n$/,
    );
  });
});
