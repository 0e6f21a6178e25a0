import fc from 'fast-check';
import { bootstrapRoom } from '../../../../runtime/router/disaggregation/bootstrap-room';

it('is a whole number below 2^53 with all that are counted up from it, and belongs to its rank', () => {
  const bytes = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((each) => Buffer.from(each));
  const extreme = fc.constantFrom(Buffer.alloc(8, 0xff), Buffer.alloc(8));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 64 }).chain((ranks) => fc.tuple(fc.constant(ranks), fc.nat(ranks - 1))),
      fc.integer({ min: 1, max: 16_384 }),
      fc.oneof(bytes, extreme),
      ([ranks, rank], count, random) => {
        const room = bootstrapRoom(rank, ranks, count, random);
        expect(Number.isSafeInteger(room) && room >= 0 && room + count - 1 < 2 ** 53).toBe(true);
        expect(room % ranks).toBe(rank);
      },
    ),
  );
});

it('is another each time', () => {
  const rooms = Array.from({ length: 1_000 }, () => bootstrapRoom(0, 1, 1));
  expect(new Set(rooms).size).toBe(1_000);
  expect(Math.max(...rooms)).toBeGreaterThan(2 ** 52);
});
