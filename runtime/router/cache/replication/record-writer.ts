import type { PlaceRecord } from './place-record';
import type { ReplicationRecord } from './record';

/** Kinds by their byte on the wire. */
export const RECORD_KINDS = [
  'endpoint',
  'dispatch',
  'prefilled',
  'ended',
  'held',
  'leaving',
  'left',
  'session',
  'response',
  'forgotten',
] as const;

const FIRST_BYTES = 1024;
/** Most bytes of a name that is read: pod names, namespaces and UIDs are shorter by far. */
export const MOST_TEXT_BYTES = 1024;

/** Whether a sibling would read it. Models and tenants may have any names. */
export function isWritable(record: PlaceRecord): boolean {
  return Object.values(record).every((value) => typeof value !== 'string' || Buffer.byteLength(value) < MOST_TEXT_BYTES);
}

/** Puts records one behind the other: a byte for the kind, numbers as 7 bits a byte, hashes as they lie in memory. */
export class RecordWriter {
  private buffer = Buffer.allocUnsafe(FIRST_BYTES);
  private used = 0;

  get length(): number {
    return this.used;
  }

  write(record: ReplicationRecord): void {
    this.reserve(1);
    this.buffer[this.used++] = RECORD_KINDS.indexOf(record.kind);
    switch (record.kind) {
      case 'endpoint':
        this.number(record.number);
        this.text(record.id);
        return;
      case 'dispatch':
        this.number(record.id);
        this.number(record.endpoint);
        this.number(record.uncachedTokens);
        this.number(record.kvTokens);
        this.number(record.contextTokens);
        this.text(record.adapter ?? '');
        this.words(record.words);
        return;
      case 'prefilled':
        this.number(record.id);
        return;
      case 'ended':
        this.number(record.id);
        this.number(record.isKept ? 1 : 0);
        return;
      case 'held':
        this.number(record.endpoint);
        this.number(record.blockBytes);
        this.words(record.words);
        return;
      case 'session':
        this.text(record.key);
        this.number(record.ttlMs);
        this.text(record.target);
        this.text(record.endpoint);
        return;
      case 'response':
        this.text(record.id);
        this.number(record.ttlMs);
        this.text(record.model);
        // Nobody in particular is not a tenant whose name is empty.
        this.text(record.tenant === undefined ? '' : `=${record.tenant}`);
        this.text(record.route);
        this.text(record.target);
        this.number(record.isAdapter ? 1 : 0);
        this.text(record.endpoint);
        return;
      case 'forgotten':
        this.text(record.id);
        return;
      case 'leaving':
      case 'left':
        return;
    }
  }

  /** What was written since the last call. */
  take(): Buffer {
    const taken = Buffer.from(this.buffer.subarray(0, this.used));
    this.used = 0;
    return taken;
  }

  /** @param value a whole number from 0. */
  private number(value: number): void {
    this.reserve(8);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.buffer[this.used++] = (rest % 0x80) | 0x80;
    this.buffer[this.used++] = rest;
  }

  private text(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.number(bytes);
    this.reserve(bytes);
    this.used += this.buffer.write(value, this.used);
  }

  private words(words: Uint32Array): void {
    this.number(words.length / 2);
    this.reserve(words.byteLength);
    this.buffer.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), this.used);
    this.used += words.byteLength;
  }

  private reserve(bytes: number): void {
    if (this.used + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.used + bytes));
    this.buffer.copy(grown, 0, 0, this.used);
    this.buffer = grown;
  }
}
