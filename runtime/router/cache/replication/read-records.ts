import type { ReplicationRecord } from './record';
import { MOST_TEXT_BYTES, RECORD_KINDS } from './record-writer';

/** Reads what a `RecordWriter` wrote. @returns undefined when the bytes are anything else. */
export function readRecords(bytes: Buffer): readonly ReplicationRecord[] | undefined {
  const reader = new Reader(bytes);
  const records: ReplicationRecord[] = [];
  while (!reader.isAtEnd) {
    const record = reader.record();
    if (record === undefined || reader.isBroken) return undefined;
    records.push(record);
  }
  return records;
}

/** Past the end, and where a number makes no sense, it reads zeros and is broken from there on. */
class Reader {
  private at = 0;
  isBroken = false;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  record(): ReplicationRecord | undefined {
    const kind = RECORD_KINDS[this.bytes[this.at++]!];
    switch (kind) {
      case 'endpoint':
        return { kind, number: this.number(), id: this.text() };
      case 'dispatch': {
        const [id, endpoint, uncachedTokens] = [this.number(), this.number(), this.number()];
        const [kvTokens, contextTokens, adapter] = [this.number(), this.number(), this.text()];
        const named = adapter === '' ? {} : { adapter };
        return { kind, id, endpoint, uncachedTokens, kvTokens, contextTokens, ...named, words: this.words() };
      }
      case 'prefilled':
        return { kind, id: this.number() };
      case 'ended':
        return { kind, id: this.number(), isKept: this.number() === 1 };
      case 'held':
        return { kind, endpoint: this.number(), blockBytes: this.number(), words: this.words() };
      case 'session':
        return { kind, key: this.text(), ttlMs: this.number(), target: this.text(), endpoint: this.text() };
      case 'response': {
        const [id, ttlMs, model, tenant] = [this.text(), this.number(), this.text(), this.text()];
        const [route, target, isAdapter, endpoint] = [this.text(), this.text(), this.number() === 1, this.text()];
        return {
          kind,
          id,
          ttlMs,
          model,
          tenant: tenant === '' ? undefined : tenant.slice(1),
          route,
          target,
          isAdapter,
          endpoint,
        };
      }
      case 'forgotten':
        return { kind, id: this.text() };
      case 'leaving':
      case 'left':
        return { kind };
      default:
        return undefined;
    }
  }

  private number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) return this.broken();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) return this.broken();
      if (byte < 0x80) return value;
    }
  }

  private text(): string {
    const bytes = this.number();
    if (bytes > MOST_TEXT_BYTES || this.at + bytes > this.bytes.length) {
      this.broken();
      return '';
    }
    this.at += bytes;
    return this.bytes.toString('utf8', this.at - bytes, this.at);
  }

  private words(): Uint32Array {
    const bytes = 8 * this.number();
    if (this.isBroken || this.at + bytes > this.bytes.length) {
      this.broken();
      return new Uint32Array(0);
    }
    // A copy: words must lie at multiples of four, and a frame must not be kept for them.
    const words = new Uint32Array(bytes / 4);
    new Uint8Array(words.buffer).set(this.bytes.subarray(this.at, this.at + bytes));
    this.at += bytes;
    return words;
  }

  private broken(): number {
    this.isBroken = true;
    this.at = this.bytes.length;
    return 0;
  }
}
