import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readTrace } from '../../../../../runtime/cli/replay/workload/read-trace';
import { temporaryFolders } from '../../../../helpers/temporary-folder';

const TRACES = join(__dirname, '../../../../fixtures/traces');

describe('reading a trace', () => {
  const newFolder = temporaryFolders();
  let folder: string;
  beforeAll(() => {
    folder = newFolder();
  });
  const file = (name: string, ...lines: readonly (object | string)[]): string => {
    const path = join(folder, name);
    const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
    return path;
  };

  it.each([
    ['mooncake-conversation', 12_031, 144_793_823],
    ['mooncake-synthetic', 3_993, 61_194_628],
  ])('finds all requests and tokens of %s', (name, requests, tokens) => {
    const trace = readTrace(join(TRACES, `${name}.jsonl.gz`));
    expect(trace).toHaveLength(requests);
    const all = trace.reduce((sum, { segments }) => sum + segments.reduce((part, each) => part + each.tokens, 0), 0);
    expect(all).toBe(tokens);
    for (let i = 1; i < trace.length; i++) expect(trace[i]!.atMs).toBeGreaterThanOrEqual(trace[i - 1]!.atMs);
  });

  it.each(['plain.jsonl', 'packed.jsonl.gz'])('takes %s, with the prompt in parts of 512 tokens by hash id', (name) => {
    const path = file(name, { timestamp: 5, input_length: 600, output_length: 7, hash_ids: [3, 9] }, '');
    expect(readTrace(path)).toEqual([
      {
        atMs: 5,
        outputTokens: 7,
        segments: [
          { id: 3, tokens: 512 },
          { id: 9, tokens: 88 },
        ],
      },
    ]);
  });

  it('takes tokens that no hash id covers as the request’s own', () => {
    const line = { timestamp: 0, input_length: 700, output_length: 1, hash_ids: [0] };
    const [first, second] = readTrace(file('open.jsonl', line, line));
    expect(first!.segments.map(({ tokens }) => tokens)).toEqual([512, 188]);
    expect(first!.segments[0]).toEqual(second!.segments[0]);
    expect(first!.segments[1]!.id).not.toBe(second!.segments[1]!.id);
  });

  it('takes Kvasir’s JSON access log: answered requests, sharing what was found in caches', () => {
    const line = {
      timestamp: '2026-01-01T00:00:01.500Z',
      status_code: 200,
      model_name: 'qwen',
      input_tokens: 900,
      output_tokens: 5,
    };
    const trace = readTrace(
      file(
        'access.log',
        { ...line, cached_tokens: 600 },
        { ...line, timestamp: '2026-01-01T00:00:01.000Z', cached_tokens: 520 },
        { ...line, status_code: 503, error: { type: 'overloaded', message: '' } },
      ),
    );
    expect(trace.map(({ atMs }) => atMs)).toEqual([Date.UTC(2026, 0, 1, 0, 0, 1), Date.UTC(2026, 0, 1, 0, 0, 1, 500)]);
    const [second, first] = trace;
    expect(first!.segments.map(({ tokens }) => tokens)).toEqual([512, 88, 300]);
    expect(second!.segments.map(({ tokens }) => tokens)).toEqual([512, 8, 380]);
    expect(first!.segments[0]).toEqual(second!.segments[0]);
    expect(first!.segments.at(-1)!.id).not.toBe(second!.segments.at(-1)!.id);
  });

  it('names file and line of what it cannot read', () => {
    expect(() => readTrace(join(folder, 'nowhere.jsonl'))).toThrow(
      /nowhere\.jsonl: --trace: cannot be read \(ENOENT\).*\[replay\/cannot-read\]/,
    );
    const good = { timestamp: 0, input_length: 1, output_length: 1, hash_ids: [0] };
    expect(() => readTrace(file('half.jsonl', good, '{"timestamp": 1'))).toThrow(/half\.jsonl:2: .*\[replay\/trace-line\]/);
    expect(() => readTrace(file('other.jsonl', { ...good, input_length: 0 }))).toThrow(
      /other\.jsonl:1: .*\[replay\/trace-line\]/,
    );
    expect(() => readTrace(file('ids.jsonl', { ...good, hash_ids: [0, 1, 2] }))).toThrow('[replay/trace-line]');
    expect(() => readTrace(file('empty.jsonl', ''))).toThrow(/empty\.jsonl: holds no request.*\[replay\/empty-trace\]/);
  });
});
