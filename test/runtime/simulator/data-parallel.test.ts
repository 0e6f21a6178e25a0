import { type RunningEngine, rankPlan } from '../../../runtime/simulator/index';
import { NIXL, sglangRole } from '../../helpers/kv-plans';
import { parseFamilies, seriesValue } from '../../helpers/prometheus-text';
import { get, post, sendRaw } from '../../helpers/raw-http';
import { PLAN, startSimulated } from '../../helpers/simulated-engine';

const completion = (extra: object, headers: Readonly<Record<string, string>> = {}): string =>
  post('/v1/completions', { prompt: 'a b c', max_tokens: 2, ...extra }, headers);

const metricsOf = async (engine: RunningEngine): Promise<ReturnType<typeof parseFamilies>> =>
  parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());

describe('a server of several data-parallel ranks', () => {
  it('computes a request at the rank that the header names, and says so by the label engine', async () => {
    const engine = await startSimulated({ dataParallelSize: 3 });
    for (const rank of [1, 2, 2]) await sendRaw(engine.port, completion({}, { 'x-data-parallel-rank': String(rank) }));
    const metrics = await metricsOf(engine);
    const finished = [0, 1, 2].map((rank) => seriesValue(metrics, 'vllm:generation_tokens_total', `engine="${rank}"`));
    expect(finished).toEqual([0, 2, 4]);
    expect(engine.ranks.map((core) => core.stats().finished)).toEqual([0, 1, 2]);
    expect(engine.stats()).toMatchObject({ finished: 3, totalBlocks: 3 * 127 });
    engine.kill();
  });

  it('chooses the rank with the least to do for the rest, each of which has a prefix cache of its own', async () => {
    const engine = await startSimulated(
      { dataParallelSize: 2 },
      { stepTime: { baseMs: 20, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 } },
    );
    await Promise.all([1, 2, 3, 4].map(() => sendRaw(engine.port, completion({}))));
    expect(engine.ranks.map((core) => core.stats().finished)).toEqual([2, 2]);
    engine.kill();
  });

  it('hands KV over by one side channel a rank', async () => {
    const [prefill, decode] = await Promise.all(
      [2, 1].map((dataParallelSize) => startSimulated({ dataParallelSize, kvTransfer: NIXL }, { kvPort: 0 })),
    );
    const seen = new Set<number>();
    for (const rank of ['0', '1']) {
      const p = await sendRaw(
        prefill!.port,
        completion({ max_tokens: 1, kv_transfer_params: { do_remote_decode: true } }, { 'x-data-parallel-rank': rank }),
      );
      const params = JSON.parse(p.body.toString()).kv_transfer_params;
      seen.add(params.remote_port);
      expect((await sendRaw(decode!.port, completion({ kv_transfer_params: params }))).status).toBe(200);
    }
    expect(seen.size).toBe(2);
    expect(prefill!.handOffs()).toMatchObject({ offered: 2, taken: 2, held: 0 });
    expect(prefill!.stats().usedBlocks).toBe(0);
    prefill!.kill();
    decode!.kill();
  });

  it('prefills at the rank that the room of SGLang says, whatever 63 bits it has', async () => {
    const prefill = await startSimulated({ ...sglangRole('prefill'), dataParallelSize: 2 }, { kvPort: 0 });
    const decode = await startSimulated(sglangRole('decode'), {});
    const meet = async (room: string): Promise<void> => {
      const body = `{"text":"a b c","bootstrap_host":"127.0.0.1","bootstrap_port":${prefill.kvAddress!.port},"bootstrap_room":${room}}`;
      const bytes = `POST /generate HTTP/1.1\r\nhost: e\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const [p, d] = await Promise.all([sendRaw(prefill.port, bytes), sendRaw(decode.port, bytes)]);
      expect([p.status, d.status]).toEqual([200, 200]);
    };
    await meet('9223372036854775807');
    await meet('9223372036854775806');
    await meet('7');
    expect(prefill.ranks.map((core) => core.stats().finished)).toEqual([1, 2]);
    expect(seriesValue(await metricsOf(prefill), 'sglang:max_total_num_tokens', 'dp_rank="1"')).toBe(128 * 16);
    prefill.kill();
    decode.kill();
  });

  it('is sized by the share of the GPUs that each rank has', () => {
    expect(rankPlan({ ...PLAN, gpus: 8, dataParallelSize: 4 })).toMatchObject({ gpus: 2, dataParallelSize: 1 });
    expect(rankPlan({ ...PLAN, gpus: 8 })).toMatchObject({ gpus: 8 });
  });
});
