import fc from 'fast-check';
import { ApiPaths } from '../../../../runtime/router/request/api-paths';
import { isForbiddenMember } from '../../../../runtime/router/request/forbidden-members';
import { type ParsedBody, parseBody } from '../../../../runtime/router/request/parse-body';
import { splice } from '../../../../runtime/router/request/splice';

const paths = new ApiPaths();
const chat = paths.find('POST', '/v1/chat/completions');
const completions = paths.find('POST', '/v1/completions');
const embeddings = paths.find('POST', '/v1/embeddings');
const now = async (): Promise<void> => undefined;
const parse = (text: string | Buffer, api = chat): Promise<ParsedBody> =>
  parseBody(Buffer.from(text), api, { maxDepth: 32 }, now);

async function changed(text: string, api = chat): Promise<string> {
  const body = Buffer.from(text);
  return splice(body, (await parseBody(body, api, { maxDepth: 32 }, now)).edits).toString();
}

const FORBIDDEN = [
  'kv_transfer_params',
  'ec_transfer_params',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
  'bootstrap_anything',
  'cache_salt',
  'data_parallel_rank',
  'priority',
  'request_id',
  'rid',
  'prompt_embeds',
  'mm_payload',
  'vllm_xargs',
  'extra_key',
  'chat_template',
  'media_io_kwargs',
  'mm_processor_kwargs',
];

describe('members that never pass through', () => {
  it.each(FORBIDDEN)('%s is taken out wherever it stands, also when its name is escaped', async (key) => {
    const escaped = `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}`;
    for (const name of [key, escaped]) {
      expect(await changed(`{"${name}":{"x":[1]},"model":"m","n":1}`)).toBe('{"model":"m","n":1}');
      expect(await changed(`{"model":"m", "${name}" : "a,b" , "n":1.0}`)).toBe('{"model":"m",  "n":1.0}');
      expect(await changed(`{"model":"m","n":1,"${name}":null}`)).toBe('{"model":"m","n":1}');
    }
  });

  it('leaves a whole object and every other byte as it was, for any mix of members', async () => {
    const key = fc.oneof(fc.constantFrom(...FORBIDDEN), fc.string({ minLength: 1 }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })), fc.nat(6), async (extra, position) => {
        const { stream: _s, stream_options: _o, model: _m, ...rest } = extra as Record<string, unknown>;
        const entries = Object.entries(rest);
        entries.splice(position, 0, ['model', 'm']);
        const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
        const expected = entries.filter(([name]) => !isForbiddenMember(name));
        expect(await changed(text)).toBe(
          `{${expected.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
        );
      }),
    );
  });
});

describe('usage of a stream', () => {
  it.each([
    ['{"model":"m","stream":true}', '{"stream_options":{"include_usage":true},"model":"m","stream":true}', false],
    [
      '{"model":"m","stream":true,"stream_options":null}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
      false,
    ],
    [
      '{"model":"m","stream":true,"stream_options":{}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
      false,
    ],
    [
      '{"model":"m","stream":true,"stream_options":{"x":1}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1}}',
      false,
    ],
    [
      '{"model":"m","stream":true,"stream_options":{"include_usage":false}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
      false,
    ],
    [
      '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
      '{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
      true,
    ],
    ['{"model":"m","stream":true,"stream_options":7}', '{"model":"m","stream":true,"stream_options":7}', true],
    ['{"model":"m"}', '{"model":"m"}', true],
    ['{"model":"m","stream":false}', '{"model":"m","stream":false}', true],
  ])('%s becomes %s', async (text, expected, wantsUsage) => {
    expect(await changed(text)).toBe(expected);
    expect((await parse(text)).wantsUsage).toBe(wantsUsage);
  });

  it('is not asked for where stream_options is no member', async () => {
    expect(await changed('{"model":"m","stream":true}', embeddings)).toBe('{"model":"m","stream":true}');
  });
});

describe('what the router reads', () => {
  it('takes model, stream, limits and the prompt in the order of chat templates', async () => {
    const parsed = await parse(
      '{"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"model":"Qwen\\/Q","tools":[1],"stream":true,"max_completion_tokens":7}',
    );
    expect(parsed).toMatchObject({ model: 'Qwen/Q', streams: true, maxOutputTokens: 7 });
    expect(parsed.promptSpans.map(String)).toEqual(['[1]', '[{"role":"user","content":"hi"}]']);
  });

  it('estimates images by number, not by size, and token ids by number', async () => {
    const image = `{"model":"m","messages":[{"content":[{"image_url":{"url":"data:image/png;base64,${'A'.repeat(400_000)}"}}]}]}`;
    expect((await parse(image)).promptTokens).toBeLessThan(1_000);
    expect(
      (await parse(`{"model":"m","prompt":[${Array.from({ length: 1000 }, (_, i) => 10_000 + i).join(',')}]}`, completions))
        .promptTokens,
    ).toBe(1001);
  });

  it.each([
    ['{"messages":[]}', 'missing_model'],
    ['{"model":7}', 'missing_model'],
    ['{"model":"  "}', 'missing_model'],
    ['{"model":"a","model":"b"}', 'duplicate_member'],
    ['{"model":"a","m\\u006fdel":"b"}', 'duplicate_member'],
    ['{"model":"a","kv_transfer_params":1,"kv_transfer\\u005fparams":2}', 'duplicate_member'],
    ['{"model":"a","stream":"true"}', 'invalid_member'],
    ['{"model":"a","stream":1}', 'invalid_member'],
    ['{"model":"a"', 'invalid_json'],
    ['[{"model":"a"}]', 'invalid_json'],
    ['', 'invalid_json'],
    [`{"model":"a","x":${'['.repeat(40)}${']'.repeat(40)}}`, 'too_deep'],
    [Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"model":"a"}')]), 'invalid_utf8'],
    [Buffer.from([...Buffer.from('{"model":"'), 0xc3, 0x28, ...Buffer.from('"}')]), 'invalid_utf8'],
    [Buffer.from('{"model":"a"}', 'utf16le'), 'invalid_json'],
  ])('%p is refused as %s', async (text, code) => {
    await expect(parse(text)).rejects.toMatchObject({ code });
  });

  it('checks the encoding of a long body in slices that end between characters', async () => {
    const text = `{"model":"m","prompt":"${'漢字かな'.repeat(400_000)}"}`;
    let pauses = 0;
    const parsed = await parseBody(Buffer.from(text), chat, { maxDepth: 32 }, async () => {
      pauses += 1;
    });
    expect(parsed.model).toBe('m');
    expect(pauses).toBeGreaterThan(4);
  });
});
