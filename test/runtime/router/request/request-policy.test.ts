import fc from 'fast-check';
import { mediaUrls } from '../../../../runtime/router/request/media-urls';
import { RequestPolicy } from '../../../../runtime/router/request/request-policy';
import { defaultRouterConfig } from '../../../../src/config/router-config';

const { requests } = defaultRouterConfig();
const now = async (): Promise<void> => undefined;
const content = (part: unknown): Buffer =>
  Buffer.from(JSON.stringify([{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }]));

async function verdict(parts: Partial<typeof requests>, json: Buffer): Promise<string> {
  try {
    await new RequestPolicy({ ...requests, ...parts }).of('m').checkMedia?.([json], now);
    return 'passes';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Every way in which a prompt names something that an engine fetches. */
const WAYS: readonly ((url: string) => unknown)[] = [
  (url) => ({ type: 'image_url', image_url: { url } }),
  (url) => ({ type: 'image_url', image_url: { detail: 'low', url } }),
  (url) => ({ type: 'image_url', image_url: url }),
  (url) => ({ image_url: url }),
  (url) => ({ type: 'video_url', video_url: { url } }),
  (url) => ({ type: 'audio_url', audio_url: { url } }),
  (url) => ({ type: 'input_image', image_url: url }),
  (url) => ({ type: 'input_file', file_url: url }),
  (url) => ({ type: 'image', source: { type: 'url', url } }),
  (url) => ({ type: 'document', source: { type: 'url', url } }),
  (url) => ({ image: url }),
];

const REMOTE = 'http://169.254.169.254/latest';

describe('images and files that engines would fetch', () => {
  it('pass from anywhere unless the configuration says otherwise', async () => {
    for (const way of WAYS) expect(await verdict({}, content(way(REMOTE)))).toBe('passes');
  });

  it('are data URLs alone where the configuration asks for that', async () => {
    for (const way of WAYS) {
      expect(await verdict({ media: 'dataUrlsOnly' }, content(way(REMOTE)))).toBe('media_not_allowed');
      expect(await verdict({ media: 'dataUrlsOnly' }, content(way('data:image/png;base64,AAAA')))).toBe('passes');
      expect(await verdict({ media: 'dataUrlsOnly' }, content(way('DATA:image/png;base64,AAAA')))).toBe('passes');
    }
  });

  it('are seen behind every escape of their key and value', async () => {
    const escaped = (text: string): string =>
      [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const hidden = `[{"content":[{"${escaped('image_url')}":{"${escaped('url')}" : "${escaped(REMOTE)}"}}]}]`;
    expect(await verdict({ media: 'dataUrlsOnly' }, Buffer.from(hidden))).toBe('media_not_allowed');
    const data = `[{"content":[{"image_url":{"url":"${escaped('data:image/png;base64,AA')}"}}]}]`;
    expect(await verdict({ media: 'dataUrlsOnly' }, Buffer.from(data))).toBe('passes');
  });

  it('are told from text, tool arguments and citations', async () => {
    const harmless = [
      { type: 'text', text: `{"image_url":{"url":"${REMOTE}"}}` },
      { type: 'function_call', arguments: `{"url":"${REMOTE}"}` },
      { type: 'output_text', annotations: [{ type: 'url_citation', url: REMOTE }] },
    ];
    for (const part of harmless) expect(await verdict({ media: 'dataUrlsOnly' }, content(part))).toBe('passes');
  });

  it.each([
    ['https://images.example.com/a.png', 'passes'],
    ['http://IMAGES.example.com:8080/a?b#c', 'passes'],
    ['https://a.cdn.example.com/x', 'passes'],
    ['https://cdn.example.com/x', 'media_not_allowed'],
    ['https://images.example.com.evil.com/', 'media_not_allowed'],
    ['https://images.example.com@evil.com/', 'media_not_allowed'],
    ['https://evil.com\\@images.example.com/', 'media_not_allowed'],
    ['https://images.example.com\\@evil.com/', 'media_not_allowed'],
    [' https://images.example.com/', 'media_not_allowed'],
    ['https://images.example.com/a b', 'media_not_allowed'],
    ['https:images.example.com/', 'media_not_allowed'],
    ['//images.example.com/', 'media_not_allowed'],
    ['file:///etc/passwd', 'media_not_allowed'],
    ['ftp://images.example.com/', 'media_not_allowed'],
    [`https://images.example.com/${'x'.repeat(9_000)}`, 'media_not_allowed'],
    ['', 'media_not_allowed'],
  ])('from %j, where hosts are named: %s', async (url, expected) => {
    const hosts = { media: 'allowedHosts' as const, mediaHosts: ['images.example.com', '*.cdn.example.com'] };
    expect(await verdict(hosts, content({ type: 'image_url', image_url: { url } }))).toBe(expected);
  });

  it('are found in any JSON, as a whole reader of it finds them', () => {
    const key = fc.oneof(fc.constantFrom('image_url', 'url', 'image', 'source', 'file_url'), fc.string());
    const tree = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.string(), fc.integer(), fc.array(tie('value')), fc.dictionary(key, tie('value'))),
    })).value;
    fc.assert(
      fc.property(tree, (value) => {
        const found = [...mediaUrls(Buffer.from(JSON.stringify(value)), 2 ** 20)];
        const expected: string[] = [];
        const members = new Set(['image_url', 'image', 'file_url']);
        const holders = new Set([...members, 'source']);
        const walk = (node: unknown, name: string, holder: string): void => {
          if (typeof node === 'string') {
            if ((members.has(name) || (name === 'url' && holders.has(holder))) && !/^data:/i.test(node)) expected.push(node);
          } else if (Array.isArray(node)) for (const each of node) walk(each, name, holder);
          else if (typeof node === 'object' && node !== null) {
            for (const [own, each] of Object.entries(node)) walk(each, own, name);
          }
        };
        walk(value, '', '');
        expect(found).toEqual(expected);
      }),
    );
  });
});

describe('what differs for a model', () => {
  it('replaces what holds for all, field by field, and names of models are only names', () => {
    const policy = new RequestPolicy({
      ...requests,
      allowMembers: ['chat_template'],
      media: 'dataUrlsOnly',
      models: { vision: { media: 'anywhere' }, plain: { allowMembers: [] } },
    });
    const shown = (model: string) => [[...policy.of(model).allowed], policy.of(model).checkMedia !== undefined];
    expect(shown('other')).toEqual([['chat_template'], true]);
    expect(shown('vision')).toEqual([['chat_template'], false]);
    expect(shown('plain')).toEqual([[], true]);
    expect(shown('__proto__')).toEqual(shown('other'));
    expect(shown('constructor')).toEqual(shown('other'));
  });
});
