import type { Clock } from '../../lib/clock';
import { Metrics } from '../../lib/metrics';
import { ClusterKey } from '../../router/cache/replication/cluster-key';
import type { SiblingId } from '../../router/cache/replication/frame';
import type { ReplicationLink } from '../../router/cache/replication/replication';
import type { FrameListener, ReplicationTransport } from '../../router/cache/replication/transport';
import { ReplicationMetrics } from '../../router/observability/replication-metrics';

/** Any will do: nobody else is there. */
const SECRET = Buffer.from('secret of replayed routers');

/** Connects routers of one replay: every frame arrives, in order, after the same delay. */
export class VirtualLinks {
  private readonly listeners = new Map<SiblingId, FrameListener>();
  private readonly key = new ClusterKey(SECRET);

  /** @param delayMs from sending to arrival, besides what a sender waits to fill a batch. */
  constructor(
    private readonly clock: Clock,
    private readonly delayMs: number,
  ) {}

  /** How one more router reaches the others. */
  link(): ReplicationLink {
    return {
      key: this.key,
      transport: this.transport(),
      wireClock: this.clock,
      metrics: new ReplicationMetrics(new Metrics()),
    };
  }

  private transport(): ReplicationTransport {
    let self: SiblingId = '';
    const deliver = (frame: Buffer, wants: (sibling: SiblingId) => boolean): void => {
      this.clock.after(this.delayMs, () => {
        for (const [sibling, listener] of this.listeners) if (wants(sibling)) listener(frame);
      });
    };
    return {
      start: (id, listener) => {
        self = id;
        this.listeners.set(id, listener);
      },
      broadcast: (frame) => deliver(frame, (sibling) => sibling !== self),
      sendTo: (to, frame) => deliver(frame, (sibling) => sibling === to),
      close: async () => {
        this.listeners.delete(self);
      },
    };
  }
}
