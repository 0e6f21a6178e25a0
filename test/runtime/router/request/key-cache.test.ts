import fc from 'fast-check';
import { KeyCache } from '../../../../runtime/router/request/key-cache';

describe('KeyCache', () => {
  it('gives the text of the bytes, whatever was asked before', () => {
    const cache = new KeyCache();
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 40 }), { maxLength: 50 }), (keys) => {
        for (const key of [...keys, ...keys]) {
          const bytes = Buffer.from(`"${key}":`);
          expect(cache.keyAt(bytes, 1, bytes.length - 2)).toBe(Buffer.from(key).toString());
        }
      }),
    );
  });

  it('tells keys apart that fall into one slot', () => {
    const cache = new KeyCache();
    for (const key of ['model', 'mxdel', 'modxl', 'model']) expect(cache.keyAt(Buffer.from(key), 0, key.length)).toBe(key);
  });

  it('keeps no hold on the body that it read', () => {
    const cache = new KeyCache();
    const body = Buffer.from('model');
    cache.keyAt(body, 0, 5);
    body.fill(0x78);
    expect(cache.keyAt(body, 0, 5)).toBe('xxxxx');
    expect(cache.keyAt(Buffer.from('model'), 0, 5)).toBe('model');
  });
});
