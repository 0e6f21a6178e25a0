import { randomBytes } from 'node:crypto';

/** Rooms are exact as JSON numbers in every engine and tool: below 2^53. */
const MOST_ROOMS = 2 ** 53;

/**
 * The first of `count` rooms that nobody else has: 53 random bits, moved so that the room belongs to `rank`, since prefill takes the rank
 * `room % ranks`. Engines count the others up from it.
 *
 * @param random bytes to use, at least 8. @default from the system
 */
export function bootstrapRoom(rank: number, ranks: number, count: number, random: Buffer = randomBytes(8)): number {
  const drawn = (random.readUInt32BE(0) % 2 ** 21) * 2 ** 32 + random.readUInt32BE(4);
  // Room is left for the others, and for the step to the rank.
  const base = drawn % (MOST_ROOMS - count - ranks);
  return base - (base % ranks) + rank;
}
