import fc from 'fast-check';
import { type JsonScan, scanJsonObject, scanNow } from '../../../../runtime/router/request/json-object';

const readAll = { useOf: () => 'read' as const, maxDepth: 64 };

function members(scan: JsonScan, bytes: Buffer): unknown {
  if (scan.kind === 'invalid') return scan.reason;
  return Object.fromEntries(
    scan.members.map(({ key, valueStart, valueEnd }) => [key, JSON.parse(bytes.toString('utf8', valueStart, valueEnd))]),
  );
}

const jsonObject = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 8 });

function write(value: object, indent: number): Buffer {
  return Buffer.from(JSON.stringify(value, undefined, indent));
}

describe('scanning a JSON object', () => {
  it('finds the members that JSON.parse finds, with their values', () => {
    fc.assert(
      fc.property(jsonObject, fc.integer({ min: 0, max: 2 }), (value, indent) => {
        const bytes = write(value, indent);
        expect(members(scanNow(bytes, 0, bytes.length, readAll), bytes)).toEqual(JSON.parse(bytes.toString()));
      }),
    );
  });

  it('finds the same when it pauses anywhere', () => {
    fc.assert(
      fc.property(jsonObject, fc.integer({ min: 1, max: 40 }), (value, sliceBytes) => {
        const bytes = write(value, 1);
        const scan = scanJsonObject(bytes, 0, bytes.length, readAll, sliceBytes);
        let step = scan.next();
        while (step.done !== true) step = scan.next();
        expect(step.value).toEqual(scanNow(bytes, 0, bytes.length, readAll));
      }),
    );
  });

  it('refuses whatever JSON.parse refuses at the top level after one byte was changed, or finds the same members', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.string(), fc.boolean()), { minKeys: 1, maxKeys: 4 }),
        fc.nat(),
        fc.integer({ min: 0x20, max: 0x7e }),
        (value, at, byte) => {
          const bytes = Buffer.from(JSON.stringify(value));
          bytes[at % bytes.length] = byte;
          const scan = scanNow(bytes, 0, bytes.length, readAll);
          let parsed: unknown;
          try {
            parsed = JSON.parse(bytes.toString());
          } catch {
            parsed = undefined;
          }
          if (parsed === undefined || typeof parsed !== 'object' || Array.isArray(parsed) || parsed === null) {
            // A bad escape inside a value is the engine's to refuse.
            if (scan.kind === 'object') expect(bytes.toString()).toMatch(/\\/);
          } else if (scan.kind === 'object') {
            expect(members(scan, bytes)).toEqual(parsed);
          } else {
            expect(scan.reason).toBe('duplicate');
          }
        },
      ),
    );
  });

  it.each([
    ['', 'syntax'],
    ['  ', 'syntax'],
    ['[]', 'syntax'],
    ['"x"', 'syntax'],
    ['{', 'syntax'],
    ['{}x', 'syntax'],
    ['{} {}', 'syntax'],
    ['{"a":1,}', 'syntax'],
    ['{"a" 1}', 'syntax'],
    ['{"a":}', 'syntax'],
    ['{a:1}', 'syntax'],
    ['{"a":[}]}', 'syntax'],
    ['{"a":[1}', 'syntax'],
    ['{"a":{"b":1]}', 'syntax'],
    ['{"a":"x}', 'syntax'],
    ['{"a":"x\\"}', 'syntax'],
    ['{"a":NaN}', 'syntax'],
    ['{"a":01}', 'syntax'],
    ['{"a":1 2}', 'syntax'],
    ['{"a":1,"a":2}', 'duplicate'],
    ['{"a":1,"\\u0061":2}', 'duplicate'],
    [`{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'depth'],
  ])('%j is %s', (text, reason) => {
    const bytes = Buffer.from(text);
    expect(scanNow(bytes, 0, bytes.length, readAll)).toMatchObject({ kind: 'invalid', reason });
  });

  it('takes nesting up to its limit', () => {
    const bytes = Buffer.from(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`);
    expect(scanNow(bytes, 0, bytes.length, readAll).kind).toBe('object');
  });

  it('reads 16 MB of text full of escapes in slices of at most 1 MB', () => {
    const bytes = Buffer.from(JSON.stringify({ model: 'm', prompt: 'a "b" \n'.repeat(2 ** 21) }));
    const scan = scanJsonObject(bytes, 0, bytes.length, readAll, 2 ** 20);
    let slices = 0;
    let step = scan.next();
    for (; step.done !== true; step = scan.next()) slices += 1;
    expect(step.value.kind).toBe('object');
    expect(slices).toBeGreaterThanOrEqual(Math.floor(bytes.length / 2 ** 20) - 1);
  });
});
