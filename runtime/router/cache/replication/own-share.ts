import type { Clock, Timer } from '../../../lib/clock';
import type { ReplicationMetrics } from '../../observability/replication-metrics';
import type { ClusterKey } from './cluster-key';
import type { DispatchSharing, SharedDispatch, SharedFacts } from './dispatch-sharing';
import { type Frame, type Nonce, type SiblingId, sealFrame } from './frame';
import type { PlaceRecord } from './place-record';
import { isWritable, RecordWriter } from './record-writer';
import type { ReplicationTransport } from './transport';

export interface OwnShareOptions {
  readonly self: SiblingId;
  readonly key: ClusterKey;
  readonly clock: Clock;
  readonly transport: ReplicationTransport;
  readonly metrics: ReplicationMetrics;
}

interface OpenDispatch {
  readonly facts: SharedFacts;
  isPrefilled: boolean;
}

/** Timers come a millisecond or two late, and a delta shall be on its way within five. */
const BATCH_MS = 3;
/** A batch that is this long does not wait. */
const MOST_BATCH_BYTES = 64 * 1024;
const MOST_ADAPTER_BYTES = 512;
const NO_WORDS = new Uint32Array(0);

/** What this router has in flight, told to its siblings: deltas at once, everything to who asks. */
export class OwnShare implements DispatchSharing {
  private readonly writer = new RecordWriter();
  private readonly open = new Map<number, OpenDispatch>();
  /** Endpoint ids by the number that siblings know them under, which is the slot. */
  private readonly announced = new Map<number, string>();
  private sequence = 0;
  private lastId = 0;
  private isLeaving = false;
  private timer: Timer | undefined;
  private flushedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: OwnShareOptions) {}

  dispatched(facts: SharedFacts): SharedDispatch {
    const id = ++this.lastId;
    const { endpoint } = facts;
    if (this.announced.get(endpoint.slot) !== endpoint.id) {
      this.announced.set(endpoint.slot, endpoint.id);
      this.writer.write({ kind: 'endpoint', number: endpoint.slot, id: endpoint.id });
    }
    const dispatch: OpenDispatch = { facts, isPrefilled: false };
    this.open.set(id, dispatch);
    writeDispatch(this.writer, id, facts, facts.hashes.words);
    this.soon();
    return {
      prefilled: () => {
        if (dispatch.isPrefilled) return;
        dispatch.isPrefilled = true;
        this.writer.write({ kind: 'prefilled', id });
        this.soon();
      },
      ended: (isKept) => {
        if (!this.open.delete(id)) return;
        this.writer.write({ kind: 'ended', id, isKept });
        this.soon();
      },
    };
  }

  /** Tells of a session or a response. What has a name too long for the wire is known here alone. */
  placed(record: PlaceRecord): void {
    if (!isWritable(record)) return;
    this.writer.write(record);
    // A client may ask for a response at another router as soon as it has seen its id.
    if (record.kind === 'session') this.soon();
    else this.flush();
  }

  /** Sends an empty delta where nothing else was sent for `silentMs`, so that siblings hear of this router and of what they missed. */
  heartbeat(silentMs: number): void {
    if (this.options.clock.monotonic() - this.flushedMs >= silentMs) this.flush();
  }

  leaving(): void {
    this.isLeaving = true;
    this.writer.write({ kind: 'leaving' });
    this.flush();
  }

  left(): void {
    this.writer.write({ kind: 'left' });
    this.flush();
    this.timer?.cancel();
  }

  /** Sends everything in flight to one sibling. */
  answer(sibling: SiblingId, nonce: Nonce): void {
    // What waits is part of the share, so that its sequence must be too.
    if (this.writer.length > 0) this.flush();
    const writer = new RecordWriter();
    const named = new Set<string>();
    for (const [id, { facts, isPrefilled }] of this.open) {
      const { endpoint } = facts;
      if (!named.has(endpoint.id)) writer.write({ kind: 'endpoint', number: endpoint.slot, id: endpoint.id });
      named.add(endpoint.id);
      writeDispatch(writer, id, facts, NO_WORDS);
      if (isPrefilled) writer.write({ kind: 'prefilled', id });
    }
    if (this.isLeaving) writer.write({ kind: 'leaving' });
    this.sendTo(sibling, { ...this.head(), kind: 'share', nonce, sequence: this.sequence, records: writer.take() });
  }

  ask(sibling: SiblingId, nonce: Nonce, blocks: number): void {
    this.sendTo(sibling, { ...this.head(), kind: 'ask', nonce, blocks });
  }

  /** Sends a part of the index. */
  held(sibling: SiblingId, nonce: Nonce, records: Buffer): void {
    this.sendTo(sibling, { ...this.head(), kind: 'held', nonce, records });
  }

  private soon(): void {
    if (this.writer.length >= MOST_BATCH_BYTES) this.flush();
    else this.timer ??= this.options.clock.after(BATCH_MS, () => this.flush());
  }

  private flush(): void {
    const { key, clock, transport, metrics } = this.options;
    this.timer?.cancel();
    this.timer = undefined;
    this.sequence += 1;
    this.flushedMs = clock.monotonic();
    const frame = sealFrame(key, { ...this.head(), kind: 'delta', sequence: this.sequence, records: this.writer.take() });
    metrics.sent(frame.length);
    transport.broadcast(frame);
  }

  private sendTo(sibling: SiblingId, frame: Frame): void {
    const sealed = sealFrame(this.options.key, frame);
    this.options.metrics.sent(sealed.length);
    this.options.transport.sendTo(sibling, sealed);
  }

  private head(): { readonly sender: SiblingId; readonly sentMs: number } {
    return { sender: this.options.self, sentMs: this.options.clock.now() };
  }
}

function writeDispatch(writer: RecordWriter, id: number, facts: SharedFacts, words: Uint32Array): void {
  const { adapter } = facts;
  writer.write({
    kind: 'dispatch',
    id,
    endpoint: facts.endpoint.slot,
    uncachedTokens: Math.round(facts.uncachedTokens),
    kvTokens: Math.round(facts.kvTokens),
    contextTokens: Math.round(facts.contextTokens),
    ...(adapter === undefined || Buffer.byteLength(adapter) > MOST_ADAPTER_BYTES ? {} : { adapter }),
    words,
  });
}
