import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { downloaderMain } from '../../../runtime/downloader/main';
import { isWanted } from '../../../runtime/downloader/patterns';
import { durationText, Progress, sizeText } from '../../../runtime/downloader/progress';
import { readSettings } from '../../../runtime/downloader/settings';
import { parseSource } from '../../../runtime/downloader/source';
import { ModelHub } from '../../helpers/model-hub';
import { temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

/** Runs the program. @returns its status and what it wrote. */
async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = '';
  const write = (chunk: unknown): boolean => {
    text += String(chunk);
    return true;
  };
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockImplementation(write));
  try {
    return { code: await downloaderMain(args), text };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

describe('the program', () => {
  it('downloads with Kthena’s arguments and environment', async () => {
    const hub = await ModelHub.start([{ path: 'config.json', content: Buffer.from('{}') }]);
    const folder = join(temporaryFolder(), 'models', 'x');
    process.env.HF_ENDPOINT = hub.endpoint;
    try {
      expect(await run('--source', 'hf://org/model', '--output-dir', folder)).toEqual({
        code: 0,
        text: expect.stringMatching(/^1 file, 2 B; 2 B fetched in /),
      });
    } finally {
      delete process.env.HF_ENDPOINT;
      await hub.close();
    }
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe('{}');
  });

  it.each([
    [['--source', 's3://bucket/x'], 1, /"s3:\/\/bucket\/x" is a source that this downloader does not read yet/],
    [['--source', 'hf://only'], 1, /"hf:\/\/only" is no source; write hf:\/\/organization\/name/],
    [['--source', 'hf://a/../b'], 1, /is no source/],
    [['--source', 'a/b', '--config', '{'], 1, /--config: is no JSON; write an object/],
    [['--source', 'a/b', '--config', '{"hf_revision": 1}'], 1, /--config hf_revision: 1 is no text; write a string/],
    [['--source', 'a/b', '--config', '{"hf_endpoint": "mirror"}'], 1, /HF_ENDPOINT: "mirror" is no URL/],
    [['--source', 'pvc://nowhere/at/all'], 1, /\/nowhere\/at\/all is no folder; mount the volume/],
    [['--source', 'a/b', '--max-workers', '0'], 2, /write a whole number from 1 to 64/],
    [[], 2, /required option '-s, --source <uri>'/],
  ])('refuses %j', async (args, code, message) => {
    expect(await run(...args)).toEqual({ code, text: expect.stringMatching(message) });
  });
});

it('a folder that cannot be written is told in one line', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const hub = await ModelHub.start([{ path: 'config.json', content: Buffer.from('{}') }]);
  const config = JSON.stringify({ hf_endpoint: hub.endpoint });
  try {
    expect(await run('--source', 'org/model', '--config', config, '--output-dir', join(file, 'below'))).toEqual({
      code: 1,
      text: `--output-dir: ${join(file, 'below')} cannot be written (ENOTDIR); mount a volume there that the user of the container may write [download/disk]\n`,
    });
  } finally {
    await hub.close();
  }
});

describe('a folder of a volume', () => {
  it('is linked, not copied (W100), and linked again where it changed', async () => {
    const [from, to] = [temporaryFolder(), join(temporaryFolder(), 'model')];
    mkdirSync(join(from, 'sub'));
    writeFileSync(join(from, 'a.json'), 'a');
    writeFileSync(join(from, 'sub/b.bin'), 'b');
    writeFileSync(join(from, 'c.txt'), 'c');
    symlinkSync(join(from, 'c.txt'), join(from, 'd.txt'));
    const args = ['--source', `pvc:/${from}`, '--output-dir', to, '--exclude', '*.txt'];
    expect(await run(...args)).toEqual({ code: 0, text: `2 files of ${from} are in ${to}\n` });
    expect(statSync(join(to, 'sub/b.bin')).ino).toBe(statSync(join(from, 'sub/b.bin')).ino);
    writeFileSync(join(from, 'new'), 'n');
    expect((await run(...args)).text).toBe(`3 files of ${from} are in ${to}\n`);
    expect((await run('--source', `pvc:/${from}`, '--output-dir', from)).text).toBe(`${from} is used as it is\n`);
  });
});

it('sources, settings and patterns are read as Kthena writes them', () => {
  expect([parseSource('hf://a/b'), parseSource('a/b'), parseSource('pvc:///x//y/')]).toEqual([
    { kind: 'hugging-face', repository: 'a/b' },
    { kind: 'hugging-face', repository: 'a/b' },
    { kind: 'folder', path: '/x/y' },
  ]);
  const env = { HF_AUTH_TOKEN: 'e', HF_ENDPOINT: 'https://mirror/', HF_REVISION: '' };
  expect(readSettings('{"hf_token": "c"}', env)).toEqual({ token: 'c', endpoint: 'https://mirror', revision: 'main' });
  expect(readSettings(undefined, {})).toEqual({ token: undefined, endpoint: 'https://huggingface.co', revision: 'main' });
  const wanted = (path: string, include: readonly string[], exclude: readonly string[] = []) =>
    isWanted(path, { include, exclude });
  expect(wanted('a/b.json', ['*.json'])).toBe(true);
  expect(wanted('a+b.json', ['a+?.json'])).toBe(true);
  expect(wanted('original/x.pth', [], ['original/'])).toBe(false);
  expect(wanted('x.json5', ['*.json'])).toBe(false);
});

it('progress tells the rate of the last minute, and how long it will take', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const progress = new Progress(
    15_300_000_000,
    (line) => lines.push(line),
    () => nowMs,
  );
  progress.found(300_000_000);
  nowMs = 10_000;
  progress.fetched(1_000_000_000);
  progress.tell();
  nowMs = 20_000;
  progress.fetched(2_000_000_000);
  progress.tell();
  expect(lines).toEqual(['1.3 GB of 15.3 GB, 100 MB/s, 3 min left', '3.3 GB of 15.3 GB, 200 MB/s, 60 s left']);
  expect([0, 999, 1_000, 99_600, 2_500_000_000].map(sizeText)).toEqual(['0 B', '999 B', '1.0 kB', '100 kB', '2.5 GB']);
  expect([1, 89.5, 600, 7_200].map(durationText)).toEqual(['1 s', '90 s', '10 min', '2.0 h']);
});
