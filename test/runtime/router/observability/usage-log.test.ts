import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../../../runtime/lib/logger';
import { openUsageLog } from '../../../../runtime/router/observability/usage-log';
import { decodeRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import {
  chatBody,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../../helpers/router-harness';
import { temporaryFolders } from '../../../helpers/temporary-folder';

const CHAT = '/v1/chat/completions';
const KEY = 'key-of-ann-0123456789';

describe('usage records', () => {
  const folder = temporaryFolders();
  const opened: { close(): Promise<unknown> }[] = [];
  const lines: string[] = [];
  let engine: TestEngine;
  let at: TestRouter;

  beforeEach(async () => {
    lines.length = 0;
    engine = await new TestEngine((_, response) => {
      response.setHeader('content-type', 'application/json');
      const usage = { prompt_tokens: 40, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 32 } };
      response.end(JSON.stringify({ choices: [], usage }));
    }).start();
    opened.push({ close: () => engine.kill() });
    at = await startTestRouter({
      engines: [engine],
      config: routerConfig({ auth: keys(), usage: { output: 'stdout' }, retry: { attempts: 0 } }),
      route: { loraAdapters: ['sql'] },
      logs: { log: silentLogger(), usageDestination: { write: (line) => void lines.push(line) } },
    });
    at.cluster.putSecret('default/keys', 'keys=true', { ann: JSON.stringify({ key: KEY, tenant: 'red' }) });
    opened.push({ close: () => at.router.close() });
  });
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
  });

  const records = async (count: number): Promise<unknown[]> => {
    await until(() => lines.length >= count && at.router.load().activeRequests === 0, `${count} records`);
    return lines.map((line) => JSON.parse(line));
  };

  it('tell of each request whose it was, where it went and what its engine counted', async () => {
    await send(at.url, CHAT, chatBody({ model: 'sql' }), { 'x-api-key': KEY, 'x-request-id': 'mine' });
    expect(await records(1)).toEqual([
      {
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        request_id: 'mine',
        identity: 'api-key',
        user: 'ann',
        tenant: 'red',
        model: 'sql',
        model_route: 'default/route',
        backend_type: 'model_server',
        backend_name: 'default/server',
        upstream_model: 'sql',
        path: CHAT,
        status_code: 200,
        input_tokens: 40,
        cached_tokens: 32,
        output_tokens: 7,
      },
    ]);
    expect(lines[0]).toMatch(/\}\n$/);
    expect(lines[0]).not.toContain(KEY);
  });

  it('are one for each request, and none for one that used nothing', async () => {
    await send(at.url, CHAT, chatBody());
    await send(at.url, CHAT, chatBody({ model: 'unknown' }));
    await send(at.url, CHAT, chatBody(), { 'x-api-key': 'nobodys-key-0123456789' });
    const { answer } = engine;
    engine.answer = (_, response) => {
      response.statusCode = 400;
      response.end('{}');
    };
    await send(at.url, CHAT, chatBody());
    engine.answer = answer;
    await send(at.url, CHAT, chatBody());
    expect(await records(2)).toEqual([
      expect.objectContaining({ identity: 'anonymous', input_tokens: 40 }),
      expect.objectContaining({ identity: 'anonymous', input_tokens: 40 }),
    ]);
  });

  it('say that they are estimated where the engine does not count', async () => {
    engine.answer = (_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      for (let i = 0; i < 5; i++) response.write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n');
      response.end('data: [DONE]\n\n');
    };
    await send(at.url, CHAT, chatBody({ stream: true }));
    expect(await records(1)).toEqual([expect.objectContaining({ input_tokens: 9, output_tokens: 5, estimated: true })]);
  });

  it('go to the file that is configured, and nowhere without one', async () => {
    const file = join(folder(), 'usage.jsonl');
    expect(openUsageLog({})).toBeUndefined();
    const own = await startTestRouter({ engines: [engine], config: routerConfig({ usage: { output: file } }) });
    await send(own.url, CHAT, chatBody());
    await until(() => own.router.load().activeRequests === 0, 'the request is over');
    await own.router.close();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ model: 'm', input_tokens: 40 });
    expect(() => openUsageLog({ output: join(folder(), 'no', 'such') })).toThrow(/usage\.output: cannot append to .*ENOENT/);
  });

  it('are written within a second, however few there are', async () => {
    const file = join(folder(), 'usage.jsonl');
    const own = await startTestRouter({ engines: [engine], config: routerConfig({ usage: { output: file } }) });
    opened.push({ close: () => own.router.close() });
    await send(own.url, CHAT, chatBody());
    await until(() => readFileSync(file, 'utf8').endsWith('}\n'), 'the record is in the file');
  });
});

function keys(): NonNullable<RouterConfig['auth']> {
  const decoded = decodeRouterConfig({ auth: { apiKeys: { secretLabel: 'keys' }, required: false } });
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config.auth!;
}
