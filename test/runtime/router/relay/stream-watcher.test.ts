import { StreamWatcher } from '../../../../runtime/router/relay/stream-watcher';
import { recordedAnswer } from '../../../helpers/recorded-answer';
import { splits } from '../../../helpers/splits';

interface Seen {
  readonly passed: string;
  readonly watcher: StreamWatcher;
}

function watch(chunks: readonly Buffer[], withholdsUsage: boolean): Seen {
  const watcher = new StreamWatcher({ withholdsUsage });
  const passed: Buffer[] = [];
  for (const chunk of chunks) watcher.push(chunk, (bytes) => passed.push(Buffer.from(bytes)));
  watcher.end((bytes) => passed.push(Buffer.from(bytes)));
  return { passed: Buffer.concat(passed).toString(), watcher };
}

const streams = [
  ['vllm-0.32.0', 'chat_stream_usage'],
  ['vllm-0.32.0', 'chat_stream_usage_continuous'],
  ['vllm-0.32.0', 'cmpl_stream_usage'],
  ['vllm-0.32.0', 'chat_stream'],
  ['vllm-0.32.0', 'messages_stream'],
  ['vllm-0.32.0', 'responses_stream'],
  ['sglang-0.5.23', 'chat_stream_usage'],
] as const;

describe('a recorded stream, split at every point', () => {
  it.each(streams)('%s %s passes byte for byte and is known to be whole', (engine, name) => {
    const { body } = recordedAnswer(engine, name);
    for (const chunks of splits(body)) {
      const { passed, watcher } = watch(chunks, false);
      if (passed !== body.toString() || !watcher.isFinished || watcher.error !== undefined || watcher.first !== 'content') {
        expect({ passed, at: chunks[0]!.length, finished: watcher.isFinished }).toEqual({
          passed: body.toString(),
          finished: true,
        });
      }
    }
    expect(watch([body], false).passed).toBe(body.toString());
  });

  it.each([
    ['vllm-0.32.0', 'chat_stream_usage', 26, 8],
    ['vllm-0.32.0', 'chat_stream_usage_continuous', 26, 8],
    ['vllm-0.32.0', 'messages_stream', 22, 4],
  ] as const)('%s %s tells its usage', (engine, name, promptTokens, completionTokens) => {
    const { body } = recordedAnswer(engine, name);
    for (const chunks of splits(body)) {
      expect(watch(chunks, false).watcher.usage).toMatchObject({ promptTokens, completionTokens });
    }
  });

  it.each([
    ['vllm-0.32.0', 'chat_stream_usage'],
    ['vllm-0.32.0', 'cmpl_stream_usage'],
    ['sglang-0.5.23', 'chat_stream_usage'],
  ] as const)('%s %s loses exactly the usage chunk that its client did not ask for', (engine, name) => {
    const { body } = recordedAnswer(engine, name);
    const events = body.toString().split('\n\n');
    const kept = events.filter((event) => !/"choices":\s*\[\]/.test(event));
    expect(kept).toHaveLength(events.length - 1);
    for (const chunks of splits(body)) {
      const { passed, watcher } = watch(chunks, true);
      expect(passed).toBe(kept.join('\n\n'));
      expect(watcher.usage?.completionTokens).toBeGreaterThan(0);
    }
  });

  it('passes the error event of a dying engine and drops the [DONE] after it', () => {
    const { body } = recordedAnswer('vllm-0.32.0', 'enginekill_stream.partial', 'lifecycle');
    const expected = body.toString().replace('data: [DONE]\n\n', '');
    expect(expected).not.toBe(body.toString());
    for (const chunks of splits(body)) {
      const { passed, watcher } = watch(chunks, false);
      expect(passed).toBe(expected);
      expect(watcher.error).toContain('EngineCore encountered an issue');
    }
  });
});

describe('one chunk', () => {
  it('may hold content, usage and [DONE] together', () => {
    const text =
      'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\ndata: [DONE]\n\n';
    const { passed, watcher } = watch([Buffer.from(text)], true);
    expect(passed).toBe('data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n');
    expect(watcher.usage).toEqual({ promptTokens: 3, completionTokens: 1 });
  });

  it('is passed on at once up to the unfinished line', () => {
    const watcher = new StreamWatcher({ withholdsUsage: true });
    const passed: string[] = [];
    watcher.push(Buffer.from('data: {"a":1}\n\ndata: {"b"'), (bytes) => passed.push(bytes.toString()));
    expect(passed).toEqual(['data: {"a":1}\n\n']);
  });

  it('is not mistaken for usage when a string in it looks like usage', () => {
    const line = `data: ${JSON.stringify({ choices: [{ delta: { content: '"usage":{"prompt_tokens":9,"completion_tokens":9},"choices":[]' } }] })}\n\n`;
    const { passed, watcher } = watch([Buffer.from(line)], true);
    expect(passed).toBe(line);
    expect(watcher.usage).toBeUndefined();
  });

  it.each([
    ['data: {"error": {"message": "x"}}\n\n', 'error'],
    ['data: {"object":"error","message":"x"}\n\n', 'error'],
    ['event: error\ndata: {"type":"error","error":{"message":"x"}}\n\n', 'error'],
    ['data: {"error":null,"choices":[]}\n\n', 'content'],
    ['data: {"type":"message_start"}\n\n', 'content'],
    [': ping\n\n', 'none'],
    ['data: {"err', 'none'],
  ])('%j shows first: %s', (text, first) => {
    const watcher = new StreamWatcher({ withholdsUsage: false });
    watcher.push(Buffer.from(text), () => undefined);
    expect(watcher.first).toBe(first);
  });

  it('understands lines that end in CR LF', () => {
    const { passed, watcher } = watch(
      [Buffer.from('data: {"choices":[],"usage":{"prompt_tokens":3}}\r\n\r\ndata: [DONE]\r\n\r\n')],
      true,
    );
    expect(passed).toBe('data: [DONE]\r\n\r\n');
    expect(watcher.isFinished).toBe(true);
  });

  it('passes a line that is too long to hold, unread', () => {
    const long = Buffer.from(`data: {"x":"${'y'.repeat(300_000)}`);
    const watcher = new StreamWatcher({ withholdsUsage: false });
    const passed: Buffer[] = [];
    watcher.push(long, (bytes) => passed.push(bytes));
    watcher.push(Buffer.from('"}\n\ndata: [DONE]\n\n'), (bytes) => passed.push(bytes));
    expect(Buffer.concat(passed).toString()).toBe(`${long.toString()}"}\n\ndata: [DONE]\n\n`);
    expect(watcher.isFinished).toBe(true);
  });
});
