import { sleep } from '../../../../runtime/lib/clock';
import { seededRandom } from '../../../../runtime/lib/random';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import { longPrompt, PD_KINDS, type PdRig, type PdRigOptions, pdBody, startPdRig } from '../../../helpers/pd-rig';
import { openRaw, post } from '../../../helpers/raw-http';
import { send, until } from '../../../helpers/router-harness';

const CHAT = '/v1/chat/completions';
/** Leases of 30 s are 600 ms, decode's five seconds 100 ms. */
const SPEED = 50;

/** A step takes 2 ms. */
const STEP_TIME = { baseMs: 2 * SPEED, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };
const DEADLINES = { connectMs: 60_000, idleMs: 0, streamIdleFloorMs: 0, totalMs: 0 };

const start = (options: PdRigOptions): Promise<PdRig> =>
  startPdRig({ ...options, config: { deadlines: DEADLINES, ...options.config } });

/** Rigs that a test breaks. */
const rigs: PdRig[] = [];
async function rig(options: PdRigOptions): Promise<PdRig> {
  const made = await start(options);
  rigs.push(made);
  return made;
}

afterEach(async () => {
  for (const each of rigs.splice(0)) {
    try {
      await each.settled();
    } finally {
      await each.close();
    }
  }
});

interface Document {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

const text = (body: string): string => (JSON.parse(body) as Document).choices.map(({ message }) => message.content).join('|');
const streamed = (body: string): string =>
  body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => (JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '')
    .join('');
const ends = (made: PdRig, end: string): Promise<number> => made.metric('kvasir_router_hand_offs_total', `end="${end}"`);

/** What has happened to a rig so far, to be compared with what had before. */
const seen = async (made: PdRig) => ({
  completed: await ends(made, 'completed'),
  cancelled: await ends(made, 'cancelled'),
  leaked: await made.metric('kvasir_router_hand_offs_leaked_total'),
  several: await made.metric('kvasir_router_prefills_skipped_total', 'reason="several"'),
  prefill: { ...made.prefill[0]!.stats(), ...made.prefill[0]!.handOffs() },
  decode: made.decode[0]!.stats(),
  records: made.records.length,
});

describe.each(PD_KINDS)('$name', (kind) => {
  let made: PdRig;
  let before: Awaited<ReturnType<typeof seen>>;

  beforeAll(async () => {
    made = await start({ kind, speed: SPEED, engine: { stepTime: STEP_TIME } });
  });
  beforeEach(async () => {
    before = await seen(made);
  });
  afterEach(() => made.settled());
  afterAll(() => made.close());

  const ask = (content: string, extra: object = {}) => send(made.url, CHAT, pdBody(longPrompt(content), extra));
  const open = (content: string, extra: object = {}) =>
    openRaw(made.router.address.port, post(CHAT, JSON.parse(pdBody(longPrompt(content), extra)) as object));

  it('hands a request over: prefill computes the prompt, decode the answer, and the client hears of one pod', async () => {
    const first = await ask('one');
    expect(first.status).toBe(200);
    const { usage } = JSON.parse(first.body) as Document;
    expect(usage.completion_tokens).toBe(8);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + 8);
    expect(first.body).not.toContain('remote_engine_id');
    const repeated = await ask('one');
    expect(text(repeated.body)).toBe(text(first.body));
    const stream = await ask('one', { stream: true });
    expect(streamed(stream.body)).toBe(text(first.body));
    expect(stream.body.endsWith('data: [DONE]\n\n')).toBe(true);
    const [p, d] = [made.prefill[0]!.stats(), made.decode[0]!.stats()];
    expect([p.submitted - before.prefill.submitted, d.submitted - before.decode.submitted]).toEqual([3, 3]);
    expect(p.generatedTokens - before.prefill.generatedTokens).toBe(3);
    expect(d.arrivedTokens - before.decode.arrivedTokens).toBeGreaterThan(usage.prompt_tokens / 2);
    // All but the tokens of an unfinished block, or the last one.
    expect(d.prefilledTokens - before.decode.prefilledTokens).toBeLessThanOrEqual(3 * 32);
    expect((await ends(made, 'completed')) - before.completed).toBe(3);
    await until(() => made.records.length === 3, 'the records');
    expect(made.records[0]).toMatchObject({
      selected_pod: 'decode-0',
      prefill_pod: 'prefill-0',
      input_tokens: usage.prompt_tokens,
      output_tokens: 8,
    });
    expect(await made.metric('kthena_router_tokens_total', 'token_type="output"')).toBe(24);
    for (const leg of ['prefill', 'decode']) {
      const name = `kthena_router_request_${leg}_duration_seconds`;
      expect(await made.metric(name, '_count', 'status_code="200"', 'path="/v1/chat/completions"')).toBe(3);
    }
  });

  it.each([
    ['several choices', { n: 2, temperature: 1, seed: 1 }, 2],
    ['one choice of one', { n: 1 }, 1],
  ])('answers %s', async (_name, extra, choices) => {
    const answer = await ask('n', extra);
    expect(answer.status).toBe(200);
    expect((JSON.parse(answer.body) as Document).choices).toHaveLength(choices);
    const isWhole = choices > 1 && (kind.name === 'nixl' || kind.name === 'mooncake');
    const after = await seen(made);
    expect([after.completed - before.completed, after.several - before.several]).toEqual(isWhole ? [0, 1] : [1, 0]);
  });

  it('answers several prompts of one request', async () => {
    const body = JSON.stringify({ model: 'tiny', prompt: [longPrompt('x'), longPrompt('y')], max_tokens: 3, temperature: 0 });
    const answer = await send(made.url, '/v1/completions', body);
    expect(answer.status).toBe(200);
    expect((JSON.parse(answer.body) as Document).choices).toHaveLength(2);
  });

  it.each(['document', 'stream'])('client leaves while prefill computes (%s): both legs end at once', async (shape) => {
    const [p, d] = [made.prefill[0]!, made.decode[0]!];
    p.faults.hang();
    const client = open(`leave ${shape}`, { stream: shape === 'stream' });
    await until(() => p.stats().submitted > before.prefill.submitted, 'prefill has the request');
    client.leave();
    await until(() => made.router.load().exchanges === 0, 'the legs are over');
    await p.faults.clear();
    await made.settled();
    const after = await seen(made);
    expect(after.prefill.offered).toBe(before.prefill.offered);
    expect(d.stats().generatedTokens).toBe(before.decode.generatedTokens);
    expect(after.prefill.aborted - before.prefill.aborted).toBe(1);
    expect(after.cancelled - before.cancelled).toBe(1);
    expect(made.records.slice(before.records).map(({ status_code: status }) => status)).toEqual([499]);
  });

  it('client leaves when decode has been asked and did not begin: what prefill keeps is pending for its lease, and then leaked', async () => {
    const [p, d] = [made.prefill[0]!, made.decode[0]!];
    d.faults.hang();
    const client = open('left');
    await until(() => d.stats().submitted > before.decode.submitted, 'decode has the request');
    const kept = kind.leaseMs === undefined ? 0 : 1;
    if (kept > 0) expect(p.handOffs().held).toBe(1);
    client.leave();
    await until(() => made.router.load().exchanges === 0, 'the legs are over');
    expect(await made.metric('kvasir_router_hand_offs_pending')).toBe(kept);
    await d.faults.clear();
    await made.settled();
    const after = await seen(made);
    expect([after.leaked - before.leaked, after.prefill.expired - before.prefill.expired]).toEqual([kept, kept]);
    expect(after.cancelled - before.cancelled).toBe(1);
  });

  it('client leaves a stream: decode ends at once, and nothing is kept', async () => {
    const d = made.decode[0]!;
    const client = open('stream', { stream: true, max_tokens: 3000 });
    await until(() => d.stats().generatedTokens > before.decode.generatedTokens + 3, 'decode generates');
    client.leave();
    await made.settled();
    const after = await seen(made);
    expect(after.decode.generatedTokens - before.decode.generatedTokens).toBeLessThan(2_500);
    expect(after.decode.aborted - before.decode.aborted).toBe(1);
    expect(after.prefill.expired).toBe(before.prefill.expired);
    expect(after.cancelled - before.cancelled).toBe(1);
  });

  it('keeps requests apart: many at once, streams and documents, over several pods', async () => {
    const many = await rig({ kind, prefills: 2, decodes: 2 });
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => send(many.url, CHAT, pdBody(longPrompt(`p${i % 6}`), { stream: i % 2 === 0 }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const texts = answers.map(({ body }, i) => (i % 2 === 0 ? streamed(body) : text(body)));
    for (let i = 6; i < texts.length; i++) expect(texts[i]).toBe(texts[i - 6]);
    for (const engine of [...many.prefill, ...many.decode]) expect(engine.stats().submitted).toBeGreaterThan(0);
    expect(await ends(many, 'completed')).toBe(24);
    // A stream that breaks off ends with an error event and is not tried again.
    for (const each of many.decode) each.faults.cutStreamAfter(3);
    const cut = await send(many.url, CHAT, pdBody(longPrompt('cut'), { stream: true }));
    expect([cut.status, cut.body.includes('"error"'), cut.body.includes('[DONE]')]).toEqual([200, true, false]);
    expect(await ends(many, 'decode-failed')).toBe(1);
    expect(many.prefill.map((each) => each.handOffs().expired)).toEqual([0, 0]);
  });

  it('decode goes on alone without prefill pods, where it can', async () => {
    const alone = await rig({ kind });
    alone.prefill[0]!.kill();
    const answer = await send(alone.url, CHAT, pdBody(longPrompt('alone')));
    expect(answer.status).toBe(kind.canSkipPrefill ? 200 : 503);
    if (kind.canSkipPrefill) {
      expect(await alone.metric('kvasir_router_prefills_skipped_total', 'reason="no-pair"')).toBe(1);
      expect(alone.decode[0]!.stats().prefilledTokens).toBeGreaterThan(100);
    }
    expect(await ends(alone, 'prefill-failed')).toBe(1);
  });

  it('prefill that dies is replaced by another, with decode not to blame', async () => {
    const two = await rig({ kind, prefills: 2 });
    const [p0, p1] = two.prefill;
    for (const each of two.prefill) each.faults.hang();
    const asked = send(two.url, CHAT, pdBody(longPrompt('replace')));
    await until(() => p0!.stats().submitted + p1!.stats().submitted === 1, 'one prefill has the request');
    const [first, second] = p0!.stats().submitted === 1 ? [p0!, p1!] : [p1!, p0!];
    await second.faults.clear();
    first.kill();
    expect((await asked).status).toBe(200);
    expect(second.stats().submitted).toBe(1);
    expect([await ends(two, 'prefill-failed'), await ends(two, 'completed')]).toEqual([1, 1]);
    expect(two.router.endpoints.all().every(({ isEjected }) => !isEjected)).toBe(true);
  });

  it('prefill that dies while decode fetches: decode says 500 after seconds, and a new prefill and another decode answer', async () => {
    const four = await rig({ kind, prefills: 2, decodes: 2, speed: SPEED });
    for (const each of four.decode) each.faults.hang();
    const asked = send(four.url, CHAT, pdBody(longPrompt('dies')));
    await until(() => four.decode.some((each) => each.stats().submitted === 1), 'decode has the request');
    if (kind.leaseMs !== undefined)
      await until(() => four.prefill.some((each) => each.handOffs().held === 1), 'prefill keeps KV');
    const [p, other] = four.prefill[0]!.stats().submitted === 1 ? four.prefill : [...four.prefill].reverse();
    const [d] = four.decode.filter((each) => each.stats().submitted === 1);
    if (kind.name !== 'sglang') p!.kill();
    else for (const each of four.prefill) each.faults.hang();
    for (const each of four.decode) await each.faults.clear();
    if (kind.name === 'sglang') {
      await until(() => four.prefill.some((each) => each.stats().submitted === 1), 'prefill and decode have met');
      const [met] = four.prefill.filter((each) => each.stats().submitted === 1);
      met!.kill();
      for (const each of four.prefill) if (each !== met) await each.faults.clear();
    }
    expect((await asked).status).toBe(200);
    const isStored = kind.name === 'lmcache';
    expect(await ends(four, 'completed')).toBe(1);
    expect((await ends(four, 'decode-failed')) + (await ends(four, 'prefill-failed'))).toBe(isStored ? 0 : 1);
    if (kind.leaseMs !== undefined) {
      expect([other!.stats().submitted, d!.stats().loadFailed]).toEqual([1, 1]);
    }
  });

  it('decode that dies before it begins is replaced by another, with a new prefill', async () => {
    const two = await rig({ kind, decodes: 2, speed: SPEED });
    const [d0, d1] = two.decode;
    for (const each of two.decode) each.faults.hang();
    const asked = send(two.url, CHAT, pdBody(longPrompt('replace')));
    await until(() => d0!.stats().submitted + d1!.stats().submitted === 1, 'one decode has the request');
    const [first, second] = d0!.stats().submitted === 1 ? [d0!, d1!] : [d1!, d0!];
    await second.faults.clear();
    first.kill();
    expect((await asked).status).toBe(200);
    // SGLang's prefill computes nothing for a decode that never came.
    expect(two.prefill[0]!.stats().submitted).toBe(kind.name === 'sglang' ? 1 : 2);
    expect([await ends(two, 'decode-failed'), await ends(two, 'completed')]).toEqual([1, 1]);
  });
});

/** One for each order of the legs. */
const BOTH_ORDERS = PD_KINDS.filter(({ name }) => name === 'nixl' || name === 'sglang');

describe.each(BOTH_ORDERS)('$name', (kind) => {
  it('gives everything back at whatever moment clients leave', async () => {
    const many = await start({ kind, prefills: 2, decodes: 2, speed: SPEED, engine: { stepTime: STEP_TIME } });
    const random = seededRandom(7);
    const clients = Array.from({ length: 40 }, async (_, i) => {
      const extra = { stream: i % 2 === 0, max_tokens: 1 + Math.floor(20 * random.next()) };
      const afterMs = Math.floor(150 * random.next());
      const client = openRaw(many.router.address.port, post(CHAT, JSON.parse(pdBody(longPrompt(`f${i % 8}`), extra)) as object));
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      client.leave();
    });
    await Promise.all(clients);
    // Some requests are still on their way in.
    await sleep(wallClock(), 100);
    await many.settled(true);
    expect((await ends(many, 'completed')) + (await ends(many, 'cancelled'))).toBeGreaterThan(20);
    expect([await ends(many, 'prefill-failed'), await ends(many, 'decode-failed')]).toEqual([0, 0]);
    await many.close();
  });

  it('the time of the whole request ends either leg', async () => {
    const short = await rig({ kind, speed: SPEED, config: { deadlines: { ...DEADLINES, totalMs: 10_000 } } });
    for (const [engine, name] of [
      [short.prefill[0]!, 'late'],
      [short.decode[0]!, 'later'],
    ] as const) {
      engine.faults.hang();
      const late = await send(short.url, CHAT, pdBody(longPrompt(name)));
      expect([late.status, late.body.includes('upstream_timeout')]).toEqual([504, true]);
      await engine.faults.clear();
      await short.settled();
    }
  });

  it('shutting down cuts both legs and tells the client', async () => {
    const cut = await start({ kind, speed: SPEED });
    const p = cut.prefill[0]!;
    p.faults.hang();
    const asked = send(cut.url, CHAT, pdBody(longPrompt('late')));
    await until(() => p.stats().submitted === 1, 'prefill has the request');
    const closing = cut.router.drain(1);
    const answer = await asked;
    expect([answer.status, answer.body.includes('shutting_down')]).toEqual([503, true]);
    await closing;
    await p.faults.clear();
    await until(() => p.stats().running + p.stats().usedBlocks === 0, 'prefill is idle');
    for (const engine of [p, cut.decode[0]!]) engine.kill();
  });
});
