import { lookup } from 'node:dns/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../../../lib/clock';
import { formatAddress, type ListenAddress, listen, parseListenAddress } from '../../../lib/http-listen';
import type { Logger } from '../../../lib/logger';
import type { ReplicationMetrics } from '../../observability/replication-metrics';
import type { ClusterKey } from './cluster-key';
import type { SiblingId } from './frame';
import { Handshake } from './handshake';
import { SiblingConnection } from './sibling-connection';
import type { FrameListener, ReplicationTransport } from './transport';

export interface DirectTransportOptions {
  readonly key: ClusterKey;
  readonly listen: ListenAddress;
  /** `host:port`; a host may stand for many. */
  readonly siblings: readonly string[];
  readonly clock: Clock;
  readonly metrics: ReplicationMetrics;
  readonly log: Logger;
}

interface Link {
  readonly connection: SiblingConnection;
  /** Who made it. */
  readonly by: SiblingId;
}

/** Between looks at who is there: names change as pods come and go. */
const LOOK_EVERY_MS = 1_000;
/** A sibling that does not read must not hold up the end. */
const CLOSE_MS = 500;
/** Routers, and as many whose handshake is under way. */
const MOST_CONNECTIONS = 512;

/** Siblings that connect to each other, one connection for each two. */
export class DirectTransport implements ReplicationTransport {
  private readonly connections = new Set<SiblingConnection>();
  private readonly links = new Map<SiblingId, Link>();
  /** Who was found at an address. */
  private readonly foundAt = new Map<string, SiblingId>();
  private readonly connecting = new Set<string>();
  private readonly unnamed = new Set<string>();
  private self: SiblingId = '';
  private listener: FrameListener = () => undefined;
  private timer: Timer | undefined;
  private isClosed = false;
  private wasRefused = false;

  private constructor(
    private readonly options: DirectTransportOptions,
    private readonly server: Server,
  ) {
    server.maxConnections = MOST_CONNECTIONS;
    server.on('connection', (socket) => this.accept(socket));
  }

  /** @throws KvasirError when the address cannot be had. */
  static async open(options: DirectTransportOptions): Promise<DirectTransport> {
    const server = createServer();
    const transport = new DirectTransport(options, server);
    await listen(server, options.listen, 'replication.listen');
    return transport;
  }

  start(self: SiblingId, listener: FrameListener): void {
    this.self = self;
    this.listener = listener;
    this.look();
  }

  broadcast(frame: Buffer): void {
    for (const { connection } of this.links.values()) connection.send(frame);
  }

  sendTo(sibling: SiblingId, frame: Buffer): void {
    this.links.get(sibling)?.connection.send(frame);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const connection of this.connections) connection.end();
    const cut = this.options.clock.after(CLOSE_MS, () => {
      for (const connection of this.connections) connection.destroy();
    });
    await closed;
    cut.cancel();
  }

  private look(): void {
    for (const sibling of this.options.siblings) void this.lookUp(sibling);
    this.timer = this.options.clock.after(LOOK_EVERY_MS, () => this.look());
  }

  private async lookUp(sibling: string): Promise<void> {
    const { host, port } = parseListenAddress(sibling, 'replication.siblings');
    try {
      for (const { address } of await lookup(host, { all: true })) this.connect({ host: address, port });
      this.unnamed.delete(host);
    } catch (error) {
      if (this.unnamed.has(host)) return;
      this.unnamed.add(host);
      this.options.log.warn({ host, err: error }, 'sibling routers cannot be found by name');
    }
  }

  private connect(address: ListenAddress): void {
    const key = formatAddress(address);
    const found = this.foundAt.get(key);
    if (this.isClosed || this.connecting.has(key)) return;
    if (found !== undefined && (found === this.self || this.links.has(found))) return;
    this.connecting.add(key);
    const socket = connect(address);
    this.join(socket, 'connects', (sibling) => this.foundAt.set(key, sibling)).then(() => this.connecting.delete(key));
  }

  private accept(socket: Socket): void {
    // Nobody is expected before the router is whole.
    if (this.self === '' || this.isClosed) socket.destroy();
    else void this.join(socket, 'accepts', () => undefined);
  }

  /** @param found who is at the other end. @returns settles when it is linked, or over. */
  private join(socket: Socket, role: 'accepts' | 'connects', found: (sibling: SiblingId) => void): Promise<void> {
    const { key, clock } = this.options;
    return new Promise((resolve) => {
      const connection = new SiblingConnection({
        socket,
        handshake: new Handshake(key, this.self, role),
        clock,
        onFrame: (frame) => this.listener(frame),
        onSelf: () => found(this.self),
        onRefused: () => this.refused(socket),
        onLinked: (sibling) => {
          found(sibling);
          this.linked(sibling, { connection, by: role === 'connects' ? this.self : sibling });
          resolve();
        },
        onEnd: () => {
          this.connections.delete(connection);
          for (const [sibling, link] of this.links) if (link.connection === connection) this.links.delete(sibling);
          resolve();
        },
      });
      this.connections.add(connection);
    });
  }

  /** Where each of the two has connected to the other, both keep the one that the smaller id made. */
  private linked(sibling: SiblingId, link: Link): void {
    const other = this.links.get(sibling);
    if (other !== undefined && other.by !== link.by && other.by < link.by) {
      link.connection.end();
      return;
    }
    this.links.set(sibling, link);
    other?.connection.end();
  }

  private refused(socket: Socket): void {
    this.options.metrics.refused('handshake');
    if (this.wasRefused) return;
    this.wasRefused = true;
    const { remoteAddress } = socket;
    this.options.log.warn({ remoteAddress }, 'somebody who is no sibling router, or has another secret, was refused; told once');
  }
}
