import type { Clock } from '../../runtime/lib/clock';
import { Metrics } from '../../runtime/lib/metrics';
import { ClusterKey } from '../../runtime/router/cache/replication/cluster-key';
import type { SiblingId } from '../../runtime/router/cache/replication/frame';
import type { ReplicationLink } from '../../runtime/router/cache/replication/replication';
import type { FrameListener } from '../../runtime/router/cache/replication/transport';
import { ReplicationMetrics } from '../../runtime/router/observability/replication-metrics';

interface Port {
  readonly listener: FrameListener;
  readonly name: string;
}

/** Connects routers of a test in virtual time: frames may get lost, and everything that was on the wire can be seen. */
export class LossyLinks {
  readonly wire: { readonly from: string; readonly frame: Buffer }[] = [];
  /** Whether a frame arrives. */
  passes: (from: string, to: string) => boolean = () => true;
  private readonly ports = new Map<SiblingId, Port>();
  private readonly metrics = new Map<string, Metrics>();

  constructor(
    private readonly clock: Clock,
    private readonly delayMs = 1,
  ) {}

  /** @param name of the router, for this test. */
  link(name: string, secret = 'the secret that all routers share'): ReplicationLink {
    let self: SiblingId = '';
    const metrics = new Metrics();
    this.metrics.set(name, metrics);
    const send = (frame: Buffer, wants: (sibling: SiblingId) => boolean): void => {
      this.wire.push({ from: name, frame });
      for (const [sibling, port] of [...this.ports]) {
        if (sibling === self || !wants(sibling) || !this.passes(name, port.name)) continue;
        this.clock.after(this.delayMs, () => port.listener(frame));
      }
    };
    return {
      key: new ClusterKey(Buffer.from(secret)),
      wireClock: this.clock,
      metrics: new ReplicationMetrics(metrics),
      transport: {
        start: (id, listener) => {
          self = id;
          this.ports.set(id, { listener, name });
        },
        broadcast: (frame) => send(frame, () => true),
        sendTo: (to, frame) => send(frame, (sibling) => sibling === to),
        close: async () => {
          this.ports.delete(self);
        },
      },
    };
  }

  /** Gives a router bytes that nobody sent. */
  inject(to: string, bytes: Buffer): void {
    for (const port of this.ports.values()) if (port.name === to) port.listener(bytes);
  }

  /** Value of a router's metric, by the metric's name and label values in its exposition. */
  async metric(router: string, series: string): Promise<number> {
    const text = await this.metrics.get(router)!.registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }
}
