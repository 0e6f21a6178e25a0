import type { Clock, Timer } from '../../../lib/clock';
import type { BlockCursor, PrefixIndex } from '../prefix-index';
import type { Nonce, SiblingId } from './frame';
import type { KnownEndpoints } from './known-endpoints';
import type { PlaceTable } from './place-table';
import { isWritable, RecordWriter } from './record-writer';

export interface IndexAnswersOptions {
  readonly clock: Clock;
  readonly index: PrefixIndex;
  readonly endpoints: KnownEndpoints;
  readonly places: readonly PlaceTable[];
  readonly send: (sibling: SiblingId, nonce: Nonce, records: Buffer) => void;
}

/** Blocks in one frame: 32 KB, and well under a millisecond for who restores them. */
const BLOCKS_PER_PART = 4_000;
/** Sessions and responses in one frame: about as many bytes. */
const PLACES_PER_PART = 200;
/** Between two parts, so that requests go first here and there. */
const PART_EVERY_MS = 2;
/** A sibling that asks more often is broken, and must not keep this router busy. */
const ANSWER_EVERY_MS = 100;
const MOST_ASKERS = 256;
const MOST_NONCES = 10_000;

/**
 * Sends what outlives requests to who asks for it, in parts: sessions and responses, without which a client is not found again, and then
 * the index, of each pod the most recently used blocks first.
 */
export class IndexAnswers {
  private readonly answeredMs = new Map<SiblingId, number>();
  /** Of questions that were answered, the oldest first: one that was recorded is not answered again. */
  private readonly nonces = new Set<Nonce>();
  private readonly timers = new Map<SiblingId, Timer>();

  constructor(private readonly options: IndexAnswersOptions) {}

  /** Whether a question is new, and its sibling did not ask just now. */
  mayAnswer(sibling: SiblingId, nonce: Nonce): boolean {
    const nowMs = this.options.clock.monotonic();
    if (this.nonces.has(nonce)) return false;
    if (nowMs - (this.answeredMs.get(sibling) ?? Number.NEGATIVE_INFINITY) < ANSWER_EVERY_MS) return false;
    if (this.answeredMs.size >= MOST_ASKERS) this.answeredMs.clear();
    this.answeredMs.set(sibling, nowMs);
    const [oldest] = this.nonces;
    if (oldest !== undefined && this.nonces.size >= MOST_NONCES) this.nonces.delete(oldest);
    this.nonces.add(nonce);
    return true;
  }

  /** Begins to send; an answer under way to the same sibling ends. */
  begin(sibling: SiblingId, nonce: Nonce, blocks: number): void {
    this.timers.get(sibling)?.cancel();
    this.timers.delete(sibling);
    if (blocks > 0) this.continue(sibling, nonce, this.parts(blocks));
  }

  close(): void {
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
  }

  private continue(sibling: SiblingId, nonce: Nonce, parts: Iterator<Buffer>): void {
    this.timers.delete(sibling);
    const part = parts.next();
    if (part.done === true) return;
    this.options.send(sibling, nonce, part.value);
    this.timers.set(
      sibling,
      this.options.clock.after(PART_EVERY_MS, () => this.continue(sibling, nonce, parts)),
    );
  }

  private *parts(blocks: number): Generator<Buffer, undefined> {
    const { index, endpoints } = this.options;
    const pods = endpoints.all();
    const writer = new RecordWriter();
    yield* this.places(writer, blocks);
    for (const { endpoint } of pods) {
      let left = Math.ceil(blocks / pods.length);
      for (let cursor: BlockCursor | undefined = index.newest(endpoint.slot); cursor !== undefined && left > 0; ) {
        const most = Math.min(left, BLOCKS_PER_PART);
        const { runs, next } = index.recent(cursor, most);
        left -= most;
        cursor = next;
        writer.write({ kind: 'endpoint', number: endpoint.slot, id: endpoint.id });
        for (const { words, blockBytes } of runs) writer.write({ kind: 'held', endpoint: endpoint.slot, blockBytes, words });
        yield writer.take();
      }
    }
    return undefined;
  }

  /** @param most of each table. */
  private *places(writer: RecordWriter, most: number): Generator<Buffer, undefined> {
    for (const table of this.options.places) {
      let left = most;
      for (const record of table.recent()) {
        if (left-- === 0) break;
        if (isWritable(record)) writer.write(record);
        if (left % PLACES_PER_PART === 0 && writer.length > 0) yield writer.take();
      }
      if (writer.length > 0) yield writer.take();
    }
    return undefined;
  }
}
