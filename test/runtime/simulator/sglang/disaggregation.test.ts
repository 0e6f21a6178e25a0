import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { huggingFaceTokenizer, type RunningEngine, wallClock } from '../../../../runtime/simulator/index';
import { sglangRole } from '../../../helpers/kv-plans';
import { labelNames, parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, openRaw, post, type RawAnswer, sendRaw } from '../../../helpers/raw-http';
import { eventsOf, headersThatMatter, MODEL_FOLDER, recordedNames, recording, shapeOf } from '../../../helpers/recordings';
import { startSimulated } from '../../../helpers/simulated-engine';

const FOLDER = 'sglang-0.5.23/pd';
const DIED = 'sglang-0.5.23/pd-prefill-died';
const TOKENIZER = huggingFaceTokenizer(MODEL_FOLDER);
/** Decode's 14 seconds are 70 ms. */
const SPEED = 200;

const start = (role: 'prefill' | 'decode', speed = 1, plan: Readonly<Record<string, unknown>> = {}): Promise<RunningEngine> =>
  startSimulated(
    { ...sglangRole(role), ...plan },
    { numBlocks: 48, tokenizer: TOKENIZER, clock: wallClock(speed), kvPort: 0, kvLinkGBps: Number.POSITIVE_INFINITY },
  );

/** A recorded request, with the port that prefill's bootstrap server really has, in as many bytes. */
const requestTo = (name: string, port: number, folder = FOLDER): string => {
  const text = recording(folder, name).request.toString('utf8');
  const [head, body] = text.split('\r\n\r\n') as [string, string];
  const path = head.split(' ')[1]!;
  return (
    post(path, {}, {})
      .replace('{}', '')
      .replace('content-length: 2', `content-length: ${Buffer.byteLength(moved(body, port))}`) + moved(body, port)
  );
};
const moved = (body: string, port: number): string => body.replace('"bootstrap_port": 8998', `"bootstrap_port": ${port}`);

const textOf = ({ body }: RawAnswer): string => body.toString();
const ID = /[0-9a-f]{32}/g;

const BOOTSTRAP = ['bootstrap_server_info', 'bootstrap_rank', 'bootstrap_rank_unknown', 'bootstrap_missing', 'bootstrap_health'];
const PAIRS = ['01_completions', '02_chat_stream', '03_generate', '04_generate_batch'];

describe('disaggregation of SGLang 0.5.23, exchange by exchange', () => {
  let prefill: RunningEngine;
  let decode: RunningEngine;

  beforeAll(async () => {
    [prefill, decode] = await Promise.all([start('prefill'), start('decode')]);
  });

  afterAll(() => {
    prefill.kill();
    decode.kill();
  });

  it('has each recorded exchange in a test', () => {
    expect([...recordedNames(FOLDER, 'index.json')].sort()).toEqual(
      [
        ...BOOTSTRAP,
        ...PAIRS.flatMap((name) => [`p_${name}`, `d_${name}`]),
        ...['p_05_no_bootstrap', 'd_06_no_bootstrap', 'd_07_unreachable_prefill', 'p_08_decode_never_comes'],
        ...['p_metrics', 'd_metrics'],
        // As those of an engine without a role, which are compared with its recordings.
        ...['p_server_info', 'd_server_info'],
      ].sort(),
    );
  });

  it.each(BOOTSTRAP)('%s', async (name) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const actual = await sendRaw(prefill.kvAddress!.port, request.toString('latin1'));
    expect([actual.status, actual.headers['content-type']]).toEqual([expected.status, expected.headers['content-type']]);
    const own = (text: string): string => text.replace(/("rank_port"|"prefill_http_port"): \d+/, '$1: 0');
    expect(own(textOf(actual))).toBe(own(textOf(expected)));
  });

  it.each(PAIRS)('%s, both legs at the same time', async (name) => {
    const answers = await Promise.all([
      sendRaw(prefill.port, requestTo(`p_${name}`, prefill.kvAddress!.port)),
      sendRaw(decode.port, requestTo(`d_${name}`, prefill.kvAddress!.port)),
    ]);
    for (const [i, leg] of [`p_${name}`, `d_${name}`].entries()) {
      const [actual, expected] = [answers[i]!, recording(FOLDER, leg).answer];
      expect(actual.status).toBe(expected.status);
      expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
      if (expected.chunks.length > 0) {
        expect(eventsOf(actual).map((event) => shapeOf(event))).toEqual(eventsOf(expected).map((event) => shapeOf(event)));
        continue;
      }
      const [mine, theirs] = [JSON.parse(textOf(actual)), JSON.parse(textOf(expected))];
      expect(shapeOf(mine)).toEqual(shapeOf(theirs));
      expect(mine.usage).toEqual(theirs.usage);
      for (const [at, { meta_info: wanted }] of [theirs].flat().entries()) {
        const { meta_info: info } = [mine].flat()[at]!;
        for (const field of ['finish_reason', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'cached_tokens_details'])
          expect([field, info?.[field]]).toEqual([field, wanted?.[field]]);
      }
    }
  });

  it('gives both legs the same beginning, and every block back', () => {
    expect(prefill.handOffs()).toEqual({ held: 0, offered: 5, taken: 5, expired: 0, leakedBlocks: 0, lateReads: 0 });
    for (const engine of [prefill, decode])
      expect(engine.stats()).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0, finished: 5 });
  });

  it.each([
    ['p_05_no_bootstrap', 'prefill'],
    ['d_06_no_bootstrap', 'decode'],
  ] as const)('%s', async (name, role) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const actual = await sendRaw(role === 'prefill' ? prefill.port : decode.port, request);
    expect(actual.status).toBe(expected.status);
    expect(textOf(actual).replace(ID, '')).toBe(textOf(expected).replace(ID, ''));
  });

  it('p_08_decode_never_comes: prefill waits without computing until its client gives up', async () => {
    const waits = openRaw(prefill.port, requestTo('p_08_decode_never_comes', prefill.kvAddress!.port));
    const queue = async (): Promise<number> =>
      seriesValue(
        parseFamilies((await sendRaw(prefill.port, get('/metrics'))).body.toString()),
        'sglang:num_prefill_bootstrap_queue_reqs',
      );
    while ((await queue()) === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(prefill.stats()).toMatchObject({ running: 0, waiting: 0, submitted: 5 });
    waits.leave();
    while ((await queue()) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const metrics = parseFamilies((await sendRaw(prefill.port, get('/metrics'))).body.toString());
    expect(seriesValue(metrics, 'sglang:num_aborted_requests_total')).toBe(1);
  });

  it.each(['prefill', 'decode'] as const)('metrics of %s are recorded families with their labels', async (role) => {
    const read = (file: string): ReturnType<typeof parseFamilies> =>
      parseFamilies(readFileSync(join(__dirname, '../../../fixtures/engines', FOLDER, file), 'utf8'));
    // The recorded decode had not yet written the gauges that both roles share.
    const recorded = new Map([...read('p_metrics.resp.http'), ...read('d_metrics.resp.http')]);
    const engine = role === 'prefill' ? prefill : decode;
    const mine = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    for (const [name, family] of mine) {
      if (name === 'sglang:num_aborted_requests_total') continue;
      expect([name, recorded.get(name)?.type]).toEqual([name, family.type]);
      expect([name, labelNames(family)]).toEqual([name, labelNames(recorded.get(name)!)]);
      for (const series of family.series.keys())
        if (series.includes('engine_type')) expect(series).toContain(`engine_type="${role}"`);
    }
  });
});

describe('decode whose prefill is not there', () => {
  it.each([
    [FOLDER, 'd_07_unreachable_prefill'],
    [DIED, 'd_02_chat_stream'],
    [DIED, 'd_03_generate'],
    [DIED, 'd_04_generate_batch'],
  ])('%s/%s: fails after 14 seconds', async (folder, name) => {
    const clock = wallClock(SPEED);
    const decode = await startSimulated({ ...sglangRole('decode') }, { numBlocks: 48, tokenizer: TOKENIZER, clock });
    const from = clock.monotonic();
    // Port 1 has no listener.
    const actual = await sendRaw(
      decode.port,
      requestTo(name, 1, folder).replace('"bootstrap_port": 5999', '"bootstrap_port": 1   '),
    );
    expect((clock.monotonic() - from) / 1000).toBeGreaterThanOrEqual(14);
    const expected = recording(folder, name).answer;
    expect(actual.status).toBe(expected.status);
    const neutral = (text: string): string => text.replace(ID, '').replace(/"created":\d+/g, '');
    if (expected.chunks.length > 0) expect(actual.chunks.map(neutral)).toEqual(expected.chunks.map(neutral));
    else expect(neutral(textOf(actual))).toBe(neutral(textOf(expected)));
    expect(decode.stats()).toMatchObject({ usedBlocks: 0, waiting: 0 });
    decode.kill();
  });

  it('d_01_completions: fails eleven seconds after prefill died in mid-transfer', async () => {
    const clock = wallClock(SPEED);
    const prefill = await start('prefill');
    const decode = await startSimulated({ ...sglangRole('decode') }, { numBlocks: 48, tokenizer: TOKENIZER, clock });
    const { port } = prefill.kvAddress!;
    const asked = sendRaw(decode.port, requestTo('d_01_completions', port, DIED));
    while (decode.stats().remoteLoads.underway === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await new Promise((resolve) => setTimeout(resolve, 30));
    prefill.kill();
    const from = clock.monotonic();
    const actual = await asked;
    expect((clock.monotonic() - from) / 1000).toBeGreaterThanOrEqual(10.5);
    const expected = recording(DIED, 'd_01_completions').answer;
    const neutral = (text: string): string => text.replace(ID, '').replace(/127\.0\.0\.1:\d+/, '');
    expect([actual.status, neutral(textOf(actual))]).toEqual([500, neutral(textOf(expected))]);
    decode.kill();
  });
});

describe('legs that part', () => {
  it('leave nothing behind when both clients go, whoever comes first', async () => {
    const [prefill, decode] = await Promise.all([start('prefill'), start('decode')]);
    const body = { text: 'a b c', bootstrap_host: '127.0.0.1', bootstrap_port: prefill.kvAddress!.port, bootstrap_room: 9 };
    const waits = openRaw(decode.port, post('/generate', body));
    while (decode.stats().remoteLoads.underway === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(decode.stats().usedBlocks).toBe(1);
    waits.leave();
    while (decode.stats().usedBlocks > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const other = openRaw(prefill.port, post('/generate', body));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(prefill.stats().submitted).toBe(0);
    other.leave();
    await new Promise((resolve) => setTimeout(resolve, 20));
    // The room is free for others.
    const [p, d] = await Promise.all([prefill, decode].map((engine) => sendRaw(engine.port, post('/generate', body))));
    expect([p!.status, d!.status]).toEqual([200, 200]);
    for (const engine of [prefill, decode]) {
      expect(engine.stats()).toMatchObject({ usedBlocks: 0, retainedBlocks: 0, waiting: 0, running: 0 });
      engine.kill();
    }
  });

  it('take memory at prefill that decode has not received: it is given back when the client of prefill leaves', async () => {
    const prefill = await start('prefill');
    const slow = await startSimulated({ ...sglangRole('decode') }, { numBlocks: 48, kvLinkGBps: 1e-9 });
    const body = { text: 'a b c', bootstrap_host: '127.0.0.1', bootstrap_port: prefill.kvAddress!.port, bootstrap_room: 9 };
    const legs = [prefill, slow].map((engine) => openRaw(engine.port, post('/generate', body)));
    while (prefill.handOffs().held === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(legs[0]!.answer.status).toBe(0);
    for (const leg of legs) leg.leave();
    while (prefill.stats().usedBlocks + slow.stats().usedBlocks > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(prefill.handOffs()).toMatchObject({ offered: 1, taken: 0, held: 0 });
    prefill.kill();
    slow.kill();
  });
});
