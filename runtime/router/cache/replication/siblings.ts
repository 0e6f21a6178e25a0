import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../lib/clock';
import type { LiveEndpoint } from '../../endpoints/live-endpoint';
import type { ReplicationMetrics } from '../../observability/replication-metrics';
import type { ClusterKey } from './cluster-key';
import { type Frame, type Nonce, openFrame, type SiblingId } from './frame';
import { readRecords } from './read-records';
import type { ReplicationRecord } from './record';
import { SiblingShare, type SiblingShareOptions } from './sibling-share';

export interface SiblingsOptions extends SiblingShareOptions {
  readonly self: SiblingId;
  readonly key: ClusterKey;
  /** That of the wire, on which silence is measured. */
  readonly wireClock: Clock;
  readonly metrics: ReplicationMetrics;
  /** Asks a sibling for all it has in flight, and for its most recently used `blocks`. */
  readonly ask: (sibling: SiblingId, nonce: Nonce, blocks: number) => void;
  /** A sibling asks this router. */
  readonly asked: (sibling: SiblingId, nonce: Nonce, blocks: number) => void;
}

interface Sibling {
  readonly id: SiblingId;
  readonly share: SiblingShare;
  /** Of the delta that is next; undefined until it told all it has, and after something of it was lost. */
  next: number | undefined;
  nonce: Nonce | undefined;
  /** Nonce of the answer that the share is from: parts of the index come after it. */
  answered: Nonce | undefined;
  askedMs: number;
  /** When it last said something new that could be used. */
  heardMs: number;
}

/** A sibling that says nothing for so long has lost its share. */
export const SILENCE_MS = 1_000;
/** An answer that does not come was lost. */
const ASK_AGAIN_MS = 200;
/** Of the index, for a router that has nothing: 4 MB on the wire, 128 MB of prompts. */
const NEWCOMER_BLOCKS = 500_000;
/** Of the index, after a gap: what may have been in it. */
const GAP_BLOCKS = 4_000;
/** More than there can be routers; each costs a table. */
const MOST_SIBLINGS = 256;

/**
 * What siblings say. Nothing of a sibling counts before it answered a question with a number drawn for it, and from then on each delta
 * counts once and in order: what somebody recorded and sends again is useless.
 */
export class Siblings {
  private readonly byId = new Map<SiblingId, Sibling>();
  /** Who was asked for the index, and whether it came. */
  private indexFrom: SiblingId | 'somebody' | undefined;

  constructor(private readonly options: SiblingsOptions) {}

  receive(bytes: Buffer): void {
    const { key, self, metrics, wireClock } = this.options;
    const opened = openFrame(key, bytes);
    if (opened.kind === 'refused') {
      metrics.refused(opened.reason);
      return;
    }
    const { frame } = opened;
    if (frame.sender === self) return;
    metrics.received(bytes.length, (wireClock.now() - frame.sentMs) / 1000);
    switch (frame.kind) {
      case 'ask':
        this.options.asked(frame.sender, frame.nonce, frame.blocks);
        return;
      case 'delta':
        this.delta(frame);
        return;
      case 'share':
        this.share(frame);
        return;
      case 'held':
        this.held(frame);
        return;
    }
  }

  /** Drops the shares of those that are silent. To be called a few times a second. */
  tick(): void {
    const nowMs = this.options.wireClock.monotonic();
    for (const sibling of [...this.byId.values()]) {
      if (nowMs - sibling.heardMs > SILENCE_MS) this.forget(sibling, 'silent');
      else if (sibling.next === undefined) this.ask(sibling);
    }
    this.tell();
  }

  appeared(live: LiveEndpoint): void {
    for (const { share } of this.byId.values()) share.appeared(live);
  }

  /** Gives everything back. */
  close(): void {
    for (const { share } of this.byId.values()) share.drop();
    this.byId.clear();
  }

  private delta({ sender, sequence, records }: Extract<Frame, { kind: 'delta' }>): void {
    const { metrics } = this.options;
    const sibling = this.byId.get(sender) ?? this.add(sender);
    if (sibling === undefined) return;
    if (sibling.next === undefined) {
      this.ask(sibling);
      return;
    }
    if (sequence < sibling.next) {
      metrics.refused('repeated');
      return;
    }
    if (sequence > sibling.next) {
      metrics.gap();
      sibling.next = undefined;
      this.ask(sibling);
      return;
    }
    const read = this.read(records);
    if (read === undefined) return;
    sibling.next += 1;
    sibling.heardMs = this.options.wireClock.monotonic();
    if (!sibling.share.apply(read)) this.forget(sibling, 'left');
  }

  private share({ sender, nonce, sequence, records }: Extract<Frame, { kind: 'share' }>): void {
    const sibling = this.byId.get(sender);
    if (sibling?.nonce === undefined || sibling.nonce !== nonce) {
      this.options.metrics.refused('repeated');
      return;
    }
    const read = this.read(records);
    if (read === undefined) return;
    sibling.nonce = undefined;
    sibling.answered = nonce;
    sibling.next = sequence + 1;
    sibling.heardMs = this.options.wireClock.monotonic();
    sibling.share.replace(read);
    if (this.indexFrom === sender) this.indexFrom = 'somebody';
    this.options.metrics.snapshot();
    this.tell();
  }

  private held({ sender, nonce, records }: Extract<Frame, { kind: 'held' }>): void {
    const sibling = this.byId.get(sender);
    if (sibling?.answered !== nonce) return;
    const read = this.read(records);
    if (read !== undefined) sibling.share.apply(read);
  }

  private read(bytes: Buffer): readonly ReplicationRecord[] | undefined {
    const read = readRecords(bytes);
    // Signed, so from a sibling of another version: it is not understood, and its share is dropped as that of a silent one.
    if (read === undefined) this.options.metrics.refused('malformed');
    return read;
  }

  private add(id: SiblingId): Sibling | undefined {
    if (this.byId.size >= MOST_SIBLINGS) return undefined;
    const sibling: Sibling = {
      id,
      share: new SiblingShare(this.options),
      next: undefined,
      nonce: undefined,
      answered: undefined,
      askedMs: Number.NEGATIVE_INFINITY,
      heardMs: this.options.wireClock.monotonic(),
    };
    this.byId.set(id, sibling);
    return sibling;
  }

  private ask(sibling: Sibling): void {
    const nowMs = this.options.wireClock.monotonic();
    if (nowMs - sibling.askedMs < ASK_AGAIN_MS) return;
    sibling.askedMs = nowMs;
    sibling.nonce = randomBytes(8).toString('hex');
    const wantsAll = this.indexFrom === undefined || this.indexFrom === sibling.id;
    if (wantsAll) this.indexFrom = sibling.id;
    this.options.ask(sibling.id, sibling.nonce, wantsAll ? NEWCOMER_BLOCKS : GAP_BLOCKS);
  }

  private forget(sibling: Sibling, reason: 'silent' | 'left'): void {
    sibling.share.drop();
    this.byId.delete(sibling.id);
    if (this.indexFrom === sibling.id) this.indexFrom = undefined;
    if (sibling.answered !== undefined) this.options.metrics.dropped(reason);
    this.tell();
  }

  private tell(): void {
    let peers = 0;
    let running = 0;
    for (const { share, answered } of this.byId.values()) {
      running += share.running;
      if (answered !== undefined && !share.isLeaving) peers += 1;
    }
    this.options.metrics.siblings(peers, running);
  }
}
