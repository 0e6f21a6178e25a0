import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiObject, Chart } from 'cdk8s';
import { GitOpsApp, KthenaManifests } from '../../../constructs';
import { FIXTURES } from '../../helpers/example-objects';
import { runCli } from '../../helpers/run-cli';
import { sampleStack } from '../../helpers/sample-stack';
import { temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
const quiet = (): void => undefined;

function git(folder: string, ...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main', ...args], {
    cwd: folder,
    stdio: 'ignore',
  });
}

/** The sample stack's output, in `prod` of a new git repository. */
function committed(): { readonly repository: string; readonly prod: string } {
  const repository = temporaryFolder();
  const prod = join(repository, 'prod');
  sampleStack({ outdir: prod, report: quiet }).app.synth();
  git(repository, 'init');
  git(repository, 'add', '.');
  git(repository, 'commit', '-m', 'first');
  return { repository, prod };
}

const deployment = 'models/Deployment.llama-h100.yaml';
const edit = (prod: string, path: string, text: string): void => writeFileSync(join(prod, path), text);

describe('kvasir diff', () => {
  it('finds no difference with the last commit, and ends with 0', async () => {
    const { prod } = committed();
    expect(await runCli('diff', prod)).toEqual({
      code: 0,
      stdout: '',
      lines: [expect.stringMatching(/^no difference in \d+ objects$/)],
    });
  });

  it('finds what changed since a revision, names with blanks and other letters included, and ends with 1', async () => {
    const { repository, prod } = committed();
    git(repository, 'tag', 'v1');
    rmSync(join(prod, deployment));
    edit(prod, 'models/größer als.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: größer }\n');
    git(repository, 'add', '-A');
    git(repository, 'commit', '-m', 'second');
    expect((await runCli('diff', prod)).code).toBe(0);
    const { code, lines, stdout } = await runCli('diff', prod, 'v1', '--json');
    expect(code).toBe(1);
    expect(lines).toEqual(
      expect.arrayContaining([
        'removed Deployment llm/llama-h100',
        '  ! stops 2 replicas, 2 pods',
        'added ConfigMap default/größer',
      ]),
    );
    const { changes, bill } = JSON.parse(stdout);
    expect(changes).toHaveLength(2);
    expect(bill.before.max.gpus - bill.after.max.gpus).toBe(2);
    expect((await runCli('diff', prod, 'HEAD~1')).code).toBe(1);
  });

  it('compares two folders, of which one may be empty', async () => {
    const { prod } = committed();
    const [copy, empty] = [temporaryFolder(), temporaryFolder()];
    cpSync(prod, copy, { recursive: true });
    expect((await runCli('diff', prod, copy)).code).toBe(0);
    const { code, lines } = await runCli('diff', prod, empty);
    expect(code).toBe(1);
    expect(lines.at(-2)).toMatch(/^GPUs 0 → \d+–\d+$/);
  });

  it.each([
    ['a folder that is not there', ['/nonexistent/folder'], /there is no such file or folder/],
    ['a revision that is not there', ['PROD', 'v9'], /"v9" is neither a folder nor a revision.*\[diff\/unknown-revision\]/],
    ['a revision that would be an option', ['PROD', '--', '--output=x'], /\[diff\/unknown-revision\]/],
    ['a folder outside of a repository', ['PLAIN'], /"HEAD" is neither a folder nor a revision/],
    ['malformed YAML', ['BROKEN', 'PROD'], /malformed YAML/],
  ])('ends with 2 and one line on %s, so that no script takes it for a difference', async (_, args, line) => {
    const { prod } = committed();
    const [plain, broken] = [temporaryFolder(), temporaryFolder()];
    for (const folder of [plain, broken]) edit(folder, 'a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n');
    edit(broken, 'b.yaml', 'kind: [\n');
    const places: Readonly<Record<string, string>> = { PROD: prod, PLAIN: plain, BROKEN: broken };
    const { code, lines } = await runCli('diff', ...args.map((arg) => places[arg] ?? arg));
    expect(code).toBe(2);
    expect(lines).toEqual([expect.stringMatching(line)]);
  });
});

describe('kvasir validate', () => {
  it('finds no error in what synth wrote', async () => {
    const { prod } = committed();
    const { code, lines } = await runCli('validate', prod);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
    expect(code).toBe(0);
  });

  it('tells file, object, field and remedy of what is wrong, errors first, and ends with 1', async () => {
    const { prod } = committed();
    mkdirSync(join(prod, 'more'));
    edit(
      prod,
      'more/route.yaml',
      'apiVersion: networking.serving.volcano.sh/v1alpha1\nkind: ModelRoute\nmetadata: { name: r }\nspec: { modelName: x, rules: [{ targetModels: [{ modelServerName: nobody }] }] }\n',
    );
    edit(
      prod,
      'more/pod.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec: { containers: [{ name: a, image: tools }] }\n',
    );
    const { code, lines, stdout } = await runCli('validate', prod, '--json');
    expect(code).toBe(1);
    expect(lines[0]).toMatch(
      /^error: .*more\/route\.yaml:1: ModelRoute default\/r: spec\.rules\[0\].*there is no ModelServer "nobody".*\[routing\/missing-server\]$/,
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^warning: .*more\/pod\.yaml:1: Pod default\/p: .*\[images\/mutable-tag\]$/),
    );
    expect(JSON.parse(stdout)).toMatchObject({
      errors: 1,
      findings: expect.arrayContaining([expect.objectContaining({ severity: 'error' })]),
    });
  });

  it('does not call missing what is there and invalid', async () => {
    const folder = temporaryFolder();
    const api = 'apiVersion: networking.serving.volcano.sh/v1alpha1';
    edit(
      folder,
      'route.yaml',
      `${api}\nkind: ModelRoute\nmetadata: { name: r }\nspec: { modelName: x, rules: [{ targetModels: [{ modelServerName: s }] }] }\n`,
    );
    edit(folder, 'server.yaml', `${api}\nkind: ModelServer\nmetadata: { name: s }\nspec: { workloadSelektor: {} }\n`);
    const { code, lines } = await runCli('validate', folder);
    expect(code).toBe(1);
    expect(lines.join('\n')).toContain('workloadSelektor');
    expect(lines.join('\n')).not.toContain('missing-server');
  });

  it('takes warnings for errors when strict', async () => {
    const folder = temporaryFolder();
    edit(
      folder,
      'pod.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec: { containers: [{ name: a, image: tools }] }\n',
    );
    expect((await runCli('validate', folder)).code).toBe(0);
    expect((await runCli('validate', folder, '--strict')).code).toBe(1);
  });

  it('knows what the stack acknowledged, and takes it for an error where nobody did', async () => {
    const folder = (isAcknowledged: boolean): string => {
      const outdir = temporaryFolder();
      const app = new GitOpsApp({ outdir, report: quiet });
      const pod = new ApiObject(new Chart(app, 'c'), 'p', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'a', image: 'tools:latest' }] },
      });
      if (isAcknowledged) app.findings.acknowledge('images/mutable-tag', pod, 'a sandbox');
      app.synth();
      return outdir;
    };
    const { code, lines, stdout } = await runCli('validate', folder(true), '--strict', '--json');
    expect([code, lines]).toEqual([0, ['1 objects, 0 errors, 0 warnings, 1 findings acknowledged']]);
    expect(JSON.parse(stdout).acknowledged).toEqual([
      { reason: 'a sandbox', finding: expect.objectContaining({ code: 'images/mutable-tag', object: 'Pod default/p' }) },
    ]);
    expect((await runCli('validate', folder(false), '--strict')).code).toBe(1);
  });

  it("says the same as synth of a reference to nothing in somebody else's manifests, which the cluster may have", async () => {
    const outdir = temporaryFolder();
    const reports: string[] = [];
    const app = new GitOpsApp({ outdir, report: (line) => reports.push(line) });
    const text =
      'apiVersion: networking.serving.volcano.sh/v1alpha1\nkind: ModelRoute\nmetadata: { name: r }\nspec: { modelName: x, rules: [{ targetModels: [{ modelServerName: nobody }] }] }\n';
    new KthenaManifests(new Chart(app, 'c'), 'kthena', { text });
    app.synth();
    expect(reports).toEqual([expect.stringMatching(/^warning: .*there is no ModelServer "nobody"/)]);
    const { code, lines } = await runCli('validate', outdir);
    expect([code, lines[0]]).toEqual([0, expect.stringMatching(/^warning: .*there is no ModelServer "nobody"/)]);
    const alone = temporaryFolder();
    edit(alone, 'route.yaml', text);
    expect((await runCli('validate', alone)).lines[0]).toMatch(/^error: .*there is no ModelServer "nobody"/);
  });

  it("reads every one of Kthena's examples", async () => {
    const { lines } = await runCli('validate', join(FIXTURES, 'kthena-examples'));
    expect(lines.at(-1)).toMatch(/^\d+ objects, \d+ errors, \d+ warnings$/);
    expect(lines.filter((line) => /schema\//.test(line))).toEqual([]);
  });

  it.each(['validate', 'cost'])('%s says in one line that a folder is empty or not there', async (command) => {
    const empty = await runCli(command, temporaryFolder());
    expect([empty.code, empty.lines]).toEqual([1, [expect.stringMatching(/there is no manifest; .*\[cli\/no-manifests\]$/)]]);
    const missing = await runCli(command, '/nonexistent/folder');
    expect([missing.code, missing.lines]).toEqual([1, [expect.stringMatching(/there is no such file or folder/)]]);
  });
});

describe('kvasir cost', () => {
  it('tells GPUs and cost per hour of each model and its pools, at fewest and most replicas', async () => {
    const { prod } = committed();
    const { code, lines, stdout } = await runCli('cost', prod, '--json');
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^MODEL +GPUS +COST\/H +ON$/);
    expect(lines.find((line) => line.startsWith('qwen3-8b '))).toMatch(/1–16 +1\.20–42\.40 {2}H100-SXM-80GB, L40S-48GB$/);
    expect(lines.find((line) => line.startsWith('  qwen3-8b-h100'))).toMatch(/0–8 +0\.00–32\.80/);
    expect(lines.at(-1)).toMatch(/^all /);
    const { app } = sampleStack({ outdir: '/nonexistent', report: quiet });
    const bill = app.bill();
    expect(JSON.parse(stdout)).toMatchObject({
      min: JSON.parse(JSON.stringify(bill.min)),
      max: JSON.parse(JSON.stringify(bill.max)),
    });
  });
});
