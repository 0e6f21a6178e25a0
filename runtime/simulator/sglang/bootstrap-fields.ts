import type { JsonObject } from '../http/json-body';
import type { TransferRequest } from './sglang-transfer';

/** Where one generation's two legs meet. */
export type Meeting = Pick<TransferRequest, 'host' | 'port' | 'room'>;

/** The value of `bootstrap_room`: a number, or a list of them. Quotes inside of a prompt are escaped, so that it is not found there. */
const ROOM = /"bootstrap_room"\s*:\s*(\d+|\[[\d\s,]*\])/;

/**
 * `bootstrap_host`, `bootstrap_port` and `bootstrap_room` for each of `count` generations: lists go one by one, single values go for
 * all, and a single room is counted up.
 *
 * @returns undefined where a generation has no room.
 */
export function readRooms(
  { body, text }: { readonly body: JsonObject; readonly text: string },
  count: number,
): readonly (Meeting | undefined)[] {
  // Read from the text: a room may have 63 bits.
  const written = ROOM.exec(text)?.[1];
  const listed = written?.startsWith('[') === true ? (written.match(/\d+/g) ?? []) : undefined;
  const of = (value: unknown, index: number): unknown => (Array.isArray(value) ? value[index] : value);
  return Array.from({ length: count }, (_, index) => {
    const room = listed === undefined ? counted(written, index) : listed[index];
    if (room === undefined) return undefined;
    const [host, port] = [of(body.bootstrap_host, index), of(body.bootstrap_port, index)];
    return {
      room,
      host: typeof host === 'string' ? host : undefined,
      port: typeof port === 'number' ? port : undefined,
    };
  });
}

function counted(room: string | undefined, index: number): string | undefined {
  return room === undefined ? undefined : String(BigInt(room) + BigInt(index));
}
