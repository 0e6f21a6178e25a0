import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '../../../lib/clock';
import type { EndpointListener } from '../../endpoints/endpoint-registry';
import type { ReplicationMetrics } from '../../observability/replication-metrics';
import type { PrefixIndex } from '../prefix-index';
import type { ClusterKey } from './cluster-key';
import type { DispatchSharing } from './dispatch-sharing';
import type { Nonce, SiblingId } from './frame';
import { IndexAnswers } from './index-answers';
import { KnownEndpoints } from './known-endpoints';
import { OwnShare } from './own-share';
import type { PlaceTable } from './place-table';
import { Siblings } from './siblings';
import type { ReplicationTransport } from './transport';

/** How a router reaches its siblings. */
export interface ReplicationLink {
  readonly key: ClusterKey;
  readonly transport: ReplicationTransport;
  /** As fast as its siblings' clocks, whatever the router's own does. */
  readonly wireClock: Clock;
  readonly metrics: ReplicationMetrics;
}

export interface ReplicationOptions extends ReplicationLink {
  /** That of the ledgers. */
  readonly clock: Clock;
  readonly index: PrefixIndex;
  /** Where sessions and responses are remembered. */
  readonly places: readonly PlaceTable[];
}

const HEARTBEAT_MS = 250;

/**
 * One router among its siblings: what it sends to pods counts in their ledgers and indexes within milliseconds, and theirs in its own.
 * Each is the master of its own share, and nobody waits for anybody.
 */
export class Replication {
  readonly endpoints: EndpointListener;
  private readonly own: OwnShare;
  private readonly siblings: Siblings;
  private readonly answers: IndexAnswers;
  private timer: Timer | undefined;

  constructor(private readonly options: ReplicationOptions) {
    const { wireClock, transport } = options;
    const self: SiblingId = randomBytes(8).toString('hex');
    const endpoints = new KnownEndpoints((live) => this.siblings.appeared(live));
    this.endpoints = endpoints;
    this.own = new OwnShare({ ...options, self, clock: wireClock });
    this.answers = new IndexAnswers({ ...options, clock: wireClock, endpoints, send: this.own.held.bind(this.own) });
    this.siblings = new Siblings({
      ...options,
      self,
      endpoints,
      ask: this.own.ask.bind(this.own),
      asked: (sibling, nonce, blocks) => this.answer(sibling, nonce, blocks),
    });
    for (const table of options.places) table.share((record) => this.own.placed(record));
    transport.start(self, (frame) => this.siblings.receive(frame));
    this.beat();
  }

  /** Where attempts are told. */
  get sharing(): DispatchSharing {
    return this.own;
  }

  /** Says that this router takes no new requests; what it has in flight counts until it ends. */
  leaving(): void {
    this.own.leaving();
  }

  /** Says that it is gone, and forgets its siblings. */
  async close(): Promise<void> {
    this.timer?.cancel();
    this.answers.close();
    this.own.left();
    this.siblings.close();
    await this.options.transport.close();
  }

  private answer(sibling: SiblingId, nonce: Nonce, blocks: number): void {
    if (!this.answers.mayAnswer(sibling, nonce)) return;
    this.own.answer(sibling, nonce);
    this.answers.begin(sibling, nonce, blocks);
  }

  private beat(): void {
    this.own.heartbeat(HEARTBEAT_MS / 2);
    this.siblings.tick();
    this.timer = this.options.wireClock.after(HEARTBEAT_MS, () => this.beat());
  }
}
