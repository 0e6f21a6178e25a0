import fc from 'fast-check';
import { ClusterKey } from '../../../../../runtime/router/cache/replication/cluster-key';
import { type Frame, openFrame, sealFrame } from '../../../../../runtime/router/cache/replication/frame';
import { framed, MessageReader } from '../../../../../runtime/router/cache/replication/message-stream';
import { readRecords } from '../../../../../runtime/router/cache/replication/read-records';
import type { ReplicationRecord } from '../../../../../runtime/router/cache/replication/record';
import { isWritable, RecordWriter } from '../../../../../runtime/router/cache/replication/record-writer';

const number = fc.maxSafeNat();
const words = fc
  .array(fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff)), { maxLength: 20 })
  .map((pairs) => Uint32Array.from(pairs.flat()));
const name = fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' });
const record: fc.Arbitrary<ReplicationRecord> = fc.oneof(
  fc.record({ kind: fc.constant('endpoint' as const), number, id: name }),
  fc.record(
    {
      kind: fc.constant('dispatch' as const),
      id: number,
      endpoint: number,
      uncachedTokens: number,
      kvTokens: number,
      contextTokens: number,
      adapter: name,
      words,
    },
    { requiredKeys: ['kind', 'id', 'endpoint', 'uncachedTokens', 'kvTokens', 'contextTokens', 'words'] },
  ),
  fc.record({ kind: fc.constant('prefilled' as const), id: number }),
  fc.record({ kind: fc.constant('ended' as const), id: number, isKept: fc.boolean() }),
  fc.record({ kind: fc.constant('held' as const), endpoint: number, blockBytes: fc.constantFrom(256, 1024), words }),
  fc.record({ kind: fc.constant('session' as const), key: name, ttlMs: number, target: name, endpoint: name }),
  fc.record({
    kind: fc.constant('response' as const),
    id: name,
    ttlMs: number,
    model: name,
    tenant: fc.option(fc.string({ maxLength: 20, unit: 'grapheme' }), { nil: undefined }),
    route: name,
    target: name,
    isAdapter: fc.boolean(),
    endpoint: name,
  }),
  fc.record({ kind: fc.constant('forgotten' as const), id: name }),
  fc.constant({ kind: 'leaving' as const }),
  fc.constant({ kind: 'left' as const }),
) as fc.Arbitrary<ReplicationRecord>;

function written(records: readonly ReplicationRecord[]): Buffer {
  const writer = new RecordWriter();
  for (const each of records) writer.write(each);
  return writer.take();
}

describe('records between routers', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 30 }), (records) => {
        expect(readRecords(written(records))).toEqual(records);
      }),
    );
  });

  it('are written anew after they were taken', () => {
    const writer = new RecordWriter();
    writer.write({ kind: 'prefilled', id: 1 });
    writer.take();
    writer.write({ kind: 'leaving' });
    expect(readRecords(writer.take())).toEqual([{ kind: 'leaving' }]);
    expect(writer.length).toBe(0);
  });

  it('are refused as a whole where the last one is cut', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), fc.nat(), (records, at) => {
        const whole = written(records);
        const last = written(records.slice(-1)).length;
        if (last < 2) return;
        expect(readRecords(whole.subarray(0, whole.length - 1 - (at % (last - 1))))).toBeUndefined();
      }),
    );
  });

  it('of places whose names would be refused are not written', () => {
    const session = (target: string) => ({ kind: 'session' as const, key: 'k', ttlMs: 1, target, endpoint: 'e' });
    expect([1_023, 1_024].map((bytes) => isWritable(session('x'.repeat(bytes))))).toEqual([true, false]);
    expect(readRecords(written([session('x'.repeat(1_023))]))).toBeDefined();
    expect(isWritable(session('é'.repeat(600)))).toBe(false);
  });

  it('are nothing, or records, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const read = readRecords(Buffer.from(bytes));
        expect(read === undefined || Array.isArray(read)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('take 15 bytes and 8 a block for a request', () => {
    const blocks = 176;
    const dispatch = {
      kind: 'dispatch',
      id: 100_000,
      endpoint: 7,
      uncachedTokens: 9_000,
      kvTokens: 9_300,
      contextTokens: 32_150,
    };
    expect(written([{ ...dispatch, words: new Uint32Array(2 * blocks) } as ReplicationRecord]).length).toBe(15 + 8 * blocks);
  });
});

describe('frames between routers', () => {
  const key = new ClusterKey(Buffer.from('sixteen bytes it has'));
  const id = fc.string({ minLength: 16, maxLength: 16, unit: fc.constantFrom(...'0123456789abcdef') });
  const head = { sender: id, sentMs: fc.double({ noNaN: true }) };
  const records = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes));
  const frame = fc.oneof(
    fc.record({ ...head, kind: fc.constant('delta' as const), sequence: number, records }),
    fc.record({ ...head, kind: fc.constant('ask' as const), nonce: id, blocks: number }),
    fc.record({ ...head, kind: fc.constant('share' as const), nonce: id, sequence: number, records }),
    fc.record({ ...head, kind: fc.constant('held' as const), nonce: id, records }),
  ) as fc.Arbitrary<Frame>;

  it('are opened as they were sealed', () => {
    fc.assert(fc.property(frame, (each) => expect(openFrame(key, sealFrame(key, each))).toEqual({ kind: 'frame', frame: each })));
  });

  it('are refused when a single bit of them was changed', () => {
    fc.assert(
      fc.property(frame, fc.nat(), (each, at) => {
        const bytes = sealFrame(key, each);
        const bit = at % (8 * bytes.length);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(openFrame(key, bytes).kind).toBe('refused');
      }),
    );
  });

  it('are refused when they are from one with another secret', () => {
    const other = new ClusterKey(Buffer.from('sixteen bytes it had'));
    const bytes = sealFrame(other, { kind: 'ask', sender: 'a'.repeat(16), sentMs: 0, nonce: 'b'.repeat(16), blocks: 1 });
    expect(openFrame(key, bytes)).toEqual({ kind: 'refused', reason: 'unsigned' });
  });

  it('need a secret of 16 bytes', () => {
    expect(() => new ClusterKey(Buffer.alloc(15))).toThrow(/replication.secretFile: the secret has 15 bytes/);
  });

  it('come out of a stream whole, however it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(records, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
        (sent, cuts) => {
          const stream = Buffer.concat(sent.map(framed));
          const reader = new MessageReader(1_000);
          const got: Buffer[] = [];
          for (let at = 0, cut = 0; at < stream.length; cut++) {
            const end = at + cuts[cut % cuts.length]!;
            expect(reader.push(stream.subarray(at, end), (message) => got.push(message))).toBe(true);
            at = end;
          }
          expect(got).toEqual(sent);
        },
      ),
    );
  });

  it('that are too long for a stream are not waited for', () => {
    expect(new MessageReader(10).push(Buffer.from([0, 0, 0, 11]), () => undefined)).toBe(false);
  });
});
