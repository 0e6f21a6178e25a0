import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type DownloadOptions, downloadRepository } from '../../../runtime/downloader/download';
import { type HubFile, ModelHub, REPOSITORY } from '../../helpers/model-hub';
import { temporaryFolders } from '../../helpers/temporary-folder';

const MIB = 2 ** 20;
const files: readonly HubFile[] = [
  { path: 'config.json', content: Buffer.from('{"a": 1}') },
  { path: 'empty.txt', content: Buffer.alloc(0) },
  { path: 'model-1.safetensors', content: randomBytes(5 * MIB), isLarge: true },
  { path: 'folder/a file+é.bin', content: randomBytes(MIB + 7), isLarge: true },
  { path: 'pytorch_model.bin', content: randomBytes(100), isLarge: true },
];

let hub: ModelHub;
const temporaryFolder = temporaryFolders();

afterEach(() => hub.close());

async function open(own: readonly HubFile[] = files): Promise<string> {
  hub = await ModelHub.start(own);
  return temporaryFolder();
}

/** @returns what it said. */
async function download(folder: string, more: Partial<DownloadOptions> = {}, token?: string): Promise<readonly string[]> {
  const said: string[] = [];
  await downloadRepository({
    repository: REPOSITORY,
    settings: { token, endpoint: hub.endpoint, revision: 'main' },
    folder,
    workers: 4,
    patterns: { include: [], exclude: [] },
    say: (line) => said.push(line),
    firstRetryMs: 1,
    lock: { staleMs: 600, pollMs: 20 },
    ...more,
  });
  return said;
}

function expectFiles(folder: string, wanted: readonly HubFile[] = files): void {
  for (const { path, content } of wanted) expect(readFileSync(join(folder, path)).equals(content)).toBe(true);
  const left = readdirSync(folder, { recursive: true }).map(String);
  expect(left.filter((name) => /part|lock|dead|clock|\.new/.test(name))).toEqual([]);
}

describe('a repository', () => {
  it('is brought with all its files, and its digests are right', async () => {
    const folder = await open();
    const said = await download(folder);
    expectFiles(folder);
    expect(said.at(-1)).toMatch(/^5 files, 6\.3 MB; 6\.3 MB fetched in /);
  });

  it('is not fetched again when it is there', async () => {
    const folder = await open();
    await download(folder);
    const before = hub.contents.length;
    expect(await download(folder)).toEqual([expect.stringContaining('is there already')]);
    expect(hub.contents.length).toBe(before);
  });

  it('of which one file is gone or cut gets this one alone', async () => {
    const folder = await open();
    await download(folder);
    writeFileSync(join(folder, 'config.json'), '{');
    const before = hub.contents.length;
    await download(folder);
    expectFiles(folder);
    expect(hub.contents.slice(before).map(({ path }) => path)).toEqual(['config.json']);
  });

  it('gives what is wanted, and more when more is wanted', async () => {
    const folder = await open();
    await download(folder, { patterns: { include: ['*.json', '*.safetensors'], exclude: [] } });
    expect(existsSync(join(folder, 'pytorch_model.bin'))).toBe(false);
    await download(folder, { patterns: { include: [], exclude: ['*.bin'] } });
    expect(existsSync(join(folder, 'empty.txt'))).toBe(true);
    expect(existsSync(join(folder, 'pytorch_model.bin'))).toBe(false);
    await expect(download(folder, { patterns: { include: ['*.gguf'], exclude: [] } })).rejects.toThrow(
      /none of the 5 files of org\/model is wanted; correct --include/,
    );
  });

  it('tells its token to the hub, and not to the storage that the hub sends to', async () => {
    const folder = await open();
    const seen: (string | undefined)[] = [];
    hub.intercept = ({ headers, url }) => {
      if (url!.startsWith('/api/')) seen.push(headers.authorization);
      return false;
    };
    await download(folder, {}, 'hf_secret');
    expect(new Set(seen)).toEqual(new Set(['Bearer hf_secret']));
    expect(new Set(hub.contents.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
  });
});

describe('a hub that fails', () => {
  it('by resets every megabyte costs hardly a byte more', async () => {
    const folder = await open();
    hub.resetAfterBytes = MIB;
    await download(folder);
    expectFiles(folder);
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    expect(hub.sentBytes).toBeLessThanOrEqual(1.1 * bytes);
  });

  it('by ending a process in the middle leaves what came for the next one', async () => {
    const big = [{ path: 'big.safetensors', content: randomBytes(5 * MIB), isLarge: true }];
    const folder = await open(big);
    hub.resetAfterBytes = 2 * MIB;
    let asked = 0;
    hub.intercept = (request, response) => {
      if (!request.url!.includes('signature=') || ++asked === 1) return false;
      response.writeHead(418).end();
      return true;
    };
    await expect(download(folder)).rejects.toThrow(/answered 418/);
    expect(readdirSync(folder).sort()).toEqual(['big.safetensors.part', 'big.safetensors.part.json']);
    hub.intercept = () => false;
    hub.resetAfterBytes = Number.POSITIVE_INFINITY;
    await download(folder);
    expectFiles(folder, big);
    expect(hub.contents.at(-1)!.range).toBe(`bytes=${2 * MIB}-${5 * MIB - 1}`);
  });

  it('with 429 and 503 is asked again when it says', async () => {
    const folder = await open();
    const times: number[] = [];
    hub.intercept = (request, response) => {
      if (!request.url!.startsWith('/api/')) return false;
      times.push(Date.now());
      if (times.length > 2) return false;
      response.writeHead(times.length === 1 ? 429 : 503, { 'retry-after': '1' }).end();
      return true;
    };
    const said = await download(folder);
    expectFiles(folder);
    expect(times[2]! - times[0]!).toBeGreaterThanOrEqual(1_990);
    expect(said[0]).toMatch(/answered 429; trying again in 1\.0 s/);
  });

  it('for good is told with what to do, and what came is kept', async () => {
    const folder = await open();
    hub.intercept = (_request, response) => {
      response.writeHead(500).end();
      return true;
    };
    await expect(download(folder)).rejects.toThrow(
      /org\/model could not be fetched: 127\.0\.0\.1:\d+ answered 500; look whether/,
    );
  });

  it('is not needed when all of it is there', async () => {
    const folder = await open();
    await download(folder);
    hub.intercept = (_request, response) => {
      response.destroy();
      return true;
    };
    expect((await download(folder)).at(-1)).toMatch(/; taking what is there, at 1234/);
  });

  it('by sending whole files where parts are asked for still brings them', async () => {
    const folder = await open();
    hub.ignoresRange = true;
    await download(folder);
    expectFiles(folder);
  });

  it('by other content than its digest is found out, and the file gets no name', async () => {
    const folder = await open();
    const wrong = Buffer.from(files[2]!.content);
    wrong[1000]! ^= 1;
    const sent = (request: IncomingMessage, response: ServerResponse): boolean => {
      if (!request.url!.startsWith('/model-1.safetensors?')) return false;
      response.writeHead(206, { 'content-range': `bytes 0-${wrong.length - 1}/${wrong.length}` }).end(wrong);
      return true;
    };
    hub.intercept = sent;
    await expect(download(folder)).rejects.toThrow(/model-1\.safetensors is not what its repository says: its SHA-256 is /);
    expect(existsSync(join(folder, 'model-1.safetensors'))).toBe(false);
    hub.intercept = () => false;
    await download(folder);
    expectFiles(folder);
  });

  it.each([
    [401, undefined, /is gated, private, or does not exist; accept its conditions on that page, and give a token/],
    [403, 'hf_x', /the account of HF_AUTH_TOKEN may not read .*org\/model; accept its conditions/],
    [404, undefined, /has no revision "main".*correct --source or HF_REVISION/],
  ])('by refusing with %i says what to do', async (status, token, message) => {
    const folder = await open();
    hub.intercept = (_request, response) => {
      response.writeHead(status).end();
      return true;
    };
    await expect(download(folder, {}, token)).rejects.toThrow(message);
  });

  it('by a path outside the folder is refused before a byte is fetched', async () => {
    const folder = await open([{ path: '../evil', content: Buffer.from('x') }]);
    await expect(download(folder)).rejects.toThrow(/has a file at "\.\.\/evil"/);
    expect(hub.contents).toEqual([]);
  });
});

describe('several downloads into one folder', () => {
  it('fetch everything once, whoever comes first (W98)', async () => {
    const folder = await open();
    const said = await Promise.all(Array.from({ length: 4 }, () => download(folder)));
    expectFiles(folder);
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    expect(hub.sentBytes).toBe(bytes);
    expect(said.filter((lines) => / was downloaded by another| is there already/.test(lines.at(-1)!))).toHaveLength(3);
  });

  it('go on where one died that had the lock (W98)', async () => {
    const folder = await open();
    writeFileSync(join(folder, '.lock'), 'dead-pod 7 x');
    const past = new Date(Date.now() - 60_000);
    utimesSync(join(folder, '.lock'), past, past);
    await download(folder);
    expectFiles(folder);
  });

  it('wait for one that lives, and say for whom', async () => {
    const folder = await open();
    const lock = join(folder, '.lock');
    writeFileSync(lock, 'other-pod 7 x');
    const alive = setInterval(() => utimesSync(lock, new Date(), new Date()), 50);
    const going = download(folder);
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(hub.contents).toEqual([]);
    clearInterval(alive);
    expect(await going).toContain(`other-pod downloads into ${folder}; waiting`);
    expectFiles(folder);
  });
});
