import { type ClusterKey, SIGNATURE_BYTES } from './cluster-key';

/** Which run of which router: 16 hexadecimal digits, drawn when it starts. */
export type SiblingId = string;

/** A number drawn by who asks, so that an old answer cannot pass for a new one. 16 hexadecimal digits. */
export type Nonce = string;

interface Headed {
  readonly sender: SiblingId;
  /** When it was sent, by the sender's clock, in milliseconds since the epoch. */
  readonly sentMs: number;
}

/** What travels between router replicas. */
export type Frame = Headed &
  (
    | {
        /** What happened since the last one. */
        readonly kind: 'delta';
        /** Counts up by one. */
        readonly sequence: number;
        readonly records: Buffer;
      }
    /** Asks for everything: what is in flight, and the most recently used `blocks` of the index. */
    | { readonly kind: 'ask'; readonly nonce: Nonce; readonly blocks: number }
    /** What the sender has in flight, up to and with the delta `sequence`. */
    | { readonly kind: 'share'; readonly nonce: Nonce; readonly sequence: number; readonly records: Buffer }
    /** A part of the index. */
    | { readonly kind: 'held'; readonly nonce: Nonce; readonly records: Buffer }
  );

export type OpenedFrame =
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** `unsigned`: it is not from one who has the secret, or was changed on the way. */
  | { readonly kind: 'refused'; readonly reason: 'malformed' | 'unsigned' };

/** The name and version of the format. */
const MAGIC = Buffer.from('KVR1');
const KINDS = ['delta', 'ask', 'share', 'held'] as const;
const ID_BYTES = 8;
/** Kind, sender, time, number, and a nonce that deltas leave at zero. */
const HEADER_BYTES = MAGIC.length + 1 + ID_BYTES + 8 + 8 + ID_BYTES;
const NO_RECORDS = Buffer.alloc(0);
const NO_NONCE: Nonce = '0'.repeat(2 * ID_BYTES);

/** Longest frame that is taken. The largest are shares: some twenty bytes for each request in flight. */
export const MOST_FRAME_BYTES = 4 * 2 ** 20;

export function sealFrame(key: ClusterKey, frame: Frame): Buffer {
  const records = frame.kind === 'ask' ? NO_RECORDS : frame.records;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + records.length + SIGNATURE_BYTES);
  let at = MAGIC.copy(bytes);
  at = bytes.writeUInt8(KINDS.indexOf(frame.kind), at);
  at += bytes.write(frame.sender, at, 'hex');
  at = bytes.writeDoubleLE(frame.sentMs, at);
  at = bytes.writeDoubleLE(frame.kind === 'ask' ? frame.blocks : frame.kind === 'held' ? 0 : frame.sequence, at);
  at += bytes.write(frame.kind === 'delta' ? NO_NONCE : frame.nonce, at, 'hex');
  at += records.copy(bytes, at);
  key.sign(bytes.subarray(0, at)).copy(bytes, at);
  return bytes;
}

export function openFrame(key: ClusterKey, bytes: Buffer): OpenedFrame {
  const end = bytes.length - SIGNATURE_BYTES;
  if (end < HEADER_BYTES || bytes.length > MOST_FRAME_BYTES || MAGIC.compare(bytes, 0, MAGIC.length) !== 0) {
    return { kind: 'refused', reason: 'malformed' };
  }
  if (!key.isSigned(bytes.subarray(end), bytes.subarray(0, end))) return { kind: 'refused', reason: 'unsigned' };
  let at = MAGIC.length;
  const kind = KINDS[bytes[at++]!];
  const sender = bytes.toString('hex', at, at + ID_BYTES);
  const sentMs = bytes.readDoubleLE(at + ID_BYTES);
  const number = bytes.readDoubleLE(at + ID_BYTES + 8);
  at += ID_BYTES + 16;
  const nonce = bytes.toString('hex', at, at + ID_BYTES);
  const records = bytes.subarray(HEADER_BYTES, end);
  const head = { sender, sentMs };
  if (kind === undefined || !Number.isSafeInteger(number) || number < 0) return { kind: 'refused', reason: 'malformed' };
  switch (kind) {
    case 'delta':
      return { kind: 'frame', frame: { ...head, kind, sequence: number, records } };
    case 'ask':
      return { kind: 'frame', frame: { ...head, kind, nonce, blocks: number } };
    case 'share':
      return { kind: 'frame', frame: { ...head, kind, nonce, sequence: number, records } };
    case 'held':
      return { kind: 'frame', frame: { ...head, kind, nonce, records } };
  }
}
