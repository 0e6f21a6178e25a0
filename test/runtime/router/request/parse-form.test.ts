import fc from 'fast-check';
import { ApiPaths } from '../../../../runtime/router/request/api-paths';
import type { ParsedBody } from '../../../../runtime/router/request/parse-body';
import { parseForm } from '../../../../runtime/router/request/parse-form';
import { splice } from '../../../../runtime/router/request/splice';
import { upstreamBody } from '../../../../runtime/router/request/upstream-body';

const api = new ApiPaths().find('POST', '/v1/audio/transcriptions');
const now = async (): Promise<void> => undefined;

const part = (name: string, value: string | Buffer, extra = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`--B\r\nContent-Disposition: form-data; name="${name}"${extra}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
const form = (...parts: readonly Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from('--B--\r\n')]);

function head(type = 'multipart/form-data; boundary=B', twice = false) {
  const rawHeaders = ['Content-Type', type, ...(twice ? ['content-type', type] : [])];
  return { api, headers: { 'content-type': type }, rawHeaders };
}

const parse = (body: Buffer, type?: string, allowed?: ReadonlySet<string>): Promise<ParsedBody> =>
  parseForm(head(type), body, allowed, now);

const model = part('model', 'whisper');
const file = part('file', Buffer.from([0, 255, 13, 10, 45, 45, 13, 10]), '; filename="a.wav"\r\nContent-Type: audio/wav');

describe('a multipart form', () => {
  it('names its model, its prompt and whether it streams, in any order', async () => {
    const parsed = await parse(form(file.subarray(0, 0), part('prompt', 'names: Ada'), part('stream', 'True'), model));
    expect(parsed).toMatchObject({ model: 'whisper', streams: true, edits: [] });
    expect(parsed.promptSpans.map(String)).toEqual(['names: Ada']);
    expect((await parse(form(model, part('stream', '0')))).streams).toBe(false);
  });

  it('counts a recording by its length', async () => {
    const recording = part('file', Buffer.alloc(320_000), '; filename="a.mp3"');
    expect((await parse(form(model, recording))).promptTokens).toBe(1_001);
  });

  it('goes on byte for byte; only a model that is named otherwise upstream is another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(3), async (bytes, place) => {
        const content = Buffer.from(bytes);
        const parts = [part('language', 'en'), part('file', content, '; filename="ü (1).wav"'), part('temperature', '0.20')];
        parts.splice(place, 0, model);
        const body = form(...parts);
        const parsed = await parse(body);
        const request = { head: head() as never, body, parsed };
        expect(upstreamBody(request, 'whisper')).toBe(body);
        const renamed = parts.map((each) => (each === model ? part('model', 'openai/whisper-large-v3') : each));
        expect(upstreamBody(request, 'openai/whisper-large-v3').equals(form(...renamed))).toBe(true);
      }),
    );
  });

  it.each(['priority', 'vllm_xargs', 'vllm_xargs[speed]', 'request_id', 'cache_salt', 'bootstrap_room', 'chat_template'])(
    'loses the field %s wherever it stands',
    async (name) => {
      const bad = part(name, 'x');
      for (const parts of [
        [bad, model, file],
        [model, bad, file],
        [model, file, bad],
        [bad, model],
      ]) {
        const body = form(...parts);
        expect(splice(body, (await parse(body)).edits).equals(form(...parts.filter((each) => each !== bad)))).toBe(true);
      }
    },
  );

  it('keeps a guarded field that is allowed', async () => {
    const body = form(model, part('media_io_kwargs', '{}'));
    expect((await parse(body)).guarded).toEqual(['media_io_kwargs']);
    expect((await parse(body, undefined, new Set(['media_io_kwargs']))).edits).toEqual([]);
  });

  it.each([
    ['two models', form(model, model), 'duplicate_member'],
    ['no model', form(file), 'missing_model'],
    ['a blank model', form(part('model', ' ')), 'missing_model'],
    ['a model of 2,000 characters', form(part('model', 'x'.repeat(2_000))), 'model_not_found'],
    ['a model that is a file', form(part('model', 'whisper', '; filename="m"')), 'invalid_multipart'],
    ['a model that is no UTF-8', form(part('model', Buffer.from([0xc3, 0x28]))), 'invalid_multipart'],
    ['stream that is no boolean', form(model, part('stream', 'maybe')), 'invalid_member'],
    ['two names in one part', form(model, part('x', 'y', '; name="model"')), 'invalid_multipart'],
    [
      'an extended name',
      form(Buffer.from("--B\r\nContent-Disposition: form-data; name*=utf-8''model\r\n\r\nx\r\n")),
      'invalid_multipart',
    ],
    ['an escaped quote', form(model, part('file', 'x', '; filename="a\\"; name=\\"model"')), 'invalid_multipart'],
    ['a folded header', form(model, part('file', 'x', '\r\n ; name="model"')), 'invalid_multipart'],
    ['two dispositions', form(model, part('file', 'x', '\r\nContent-Disposition: form-data; name="model"')), 'invalid_multipart'],
    ['a preamble', Buffer.concat([Buffer.from('hello\r\n'), form(model)]), 'invalid_multipart'],
    ['an epilogue', Buffer.concat([form(model), model]), 'invalid_multipart'],
    ['no end', Buffer.concat([model, file]), 'invalid_multipart'],
    ['a boundary that goes on', form(model, part('x', 'a\r\n--Bc')), 'invalid_multipart'],
    ['nothing', Buffer.alloc(0), 'invalid_multipart'],
    ['300 parts', form(model, ...Array.from({ length: 300 }, (_, index) => part(`x${index}`, 'y'))), 'invalid_multipart'],
  ])('with %s is refused', async (_what, body, code) => {
    await expect(parse(body)).rejects.toMatchObject({ code });
  });

  it.each([
    'application/json',
    'multipart/form-data',
    'multipart/form-data; boundary=B; boundary=C',
    'multipart/form-data; boundary="B\\""',
    'multipart/form-data; charset=utf-8; boundary=B',
    'multipart/mixed; boundary=B',
    `multipart/form-data; boundary=${'B'.repeat(71)}`,
  ])('of the type %s is refused', async (type) => {
    await expect(parse(form(model), type)).rejects.toMatchObject({ code: 'invalid_multipart' });
  });

  it('with two content types is refused', async () => {
    await expect(parseForm(head(undefined, true), form(model), undefined, now)).rejects.toMatchObject({
      code: 'invalid_multipart',
    });
  });

  it('may have a quoted boundary', async () => {
    expect((await parse(form(model), 'multipart/form-data; boundary="B"')).model).toBe('whisper');
  });

  it('is searched in slices, and found where a boundary lies across two', async () => {
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses += 1;
    };
    for (const shift of [-3, -2, -1, 0, 1, 2]) {
      const content = Buffer.alloc(3 * 2 ** 20 + shift, 0x2d);
      const parsed = await parseForm(head(), form(part('file', content, '; filename="a"'), model), undefined, pause);
      expect(parsed.model).toBe('whisper');
    }
    expect(pauses).toBeGreaterThanOrEqual(12);
  });
});
