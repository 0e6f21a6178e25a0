/** Every way to cut `body` in two, and all single bytes. */
export function* splits(body: Buffer): Generator<readonly Buffer[]> {
  for (let at = 1; at < body.length; at++) yield [body.subarray(0, at), body.subarray(at)];
  yield [...body].map((byte) => Buffer.from([byte]));
}
