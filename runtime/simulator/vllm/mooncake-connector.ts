import type { KvTransferPlan } from '../../../src/expand/kv-transfer-plan';
import type { Clock, Timer } from '../../lib/clock';
import type { ListenAddress } from '../../lib/http-listen';
import type { Random } from '../../lib/random';
import type { JsonObject } from '../http/json-body';
import { hexId } from '../ids';
import type { HandOffStats } from '../kv/hand-off-stats';
import type { KvCall, KvEndpoint, KvFabric, KvPage } from '../kv/kv-fabric';
import type { KvHandOff } from '../kv/kv-hand-off';
import { type KvLink, transferMs } from '../kv/kv-link';
import { TransferMeter } from '../kv/transfer-meter';
import { TransferRooms } from '../kv/transfer-rooms';
import type { FetchResult } from '../remote-kv';
import { type HandOffRequest, PLAIN, type PreparedHandOff, type VllmConnector } from './vllm-connector';

export interface MooncakeOptions {
  readonly transfer: Extract<KvTransferPlan, { readonly connector: 'mooncake' }>;
  /** Data-parallel ranks of the engine, which share the bootstrap server of rank 0. */
  readonly ranks: number;
  /** Where a producer's bootstrap server listens. */
  readonly address: ListenAddress;
  readonly clock: Clock;
  readonly random: Random;
  readonly fabric: KvFabric;
  readonly link: KvLink;
}

/**
 * vLLM's MooncakeConnector, as its source of 0.32.0 says: both legs carry one `transfer_id`, in either order or at once; prefill
 * answers without parameters and sends when decode asks. Without the id prefill hands nothing over.
 */
export class MooncakeConnector implements VllmConnector {
  readonly meter = new TransferMeter();
  /** One for each rank. */
  private readonly engineIds: readonly string[];
  private readonly rooms: TransferRooms;
  private endpoint: KvEndpoint | undefined;

  private constructor(private readonly options: MooncakeOptions) {
    this.engineIds = Array.from({ length: options.ranks }, () => hexId(options.random, 32));
    this.rooms = new TransferRooms(options.clock, options.transfer.abortSeconds * 1000);
  }

  /** @throws KvasirError `listen/…` when its bootstrap server cannot listen. */
  static async start(options: MooncakeOptions): Promise<MooncakeConnector> {
    const connector = new MooncakeConnector(options);
    if (options.transfer.isProducer) {
      connector.endpoint = await options.fabric.listen(
        options.address,
        (call) => connector.receive(call),
        (method, url) => connector.page(method, url),
      );
    }
    return connector;
  }

  get address(): ListenAddress | undefined {
    return this.endpoint;
  }

  prepare(params: JsonObject | undefined, request: HandOffRequest): PreparedHandOff {
    const transfer = params?.transfer_id;
    if (params === undefined || typeof transfer !== 'string') return PLAIN;
    if (params.do_remote_decode === true) return { kind: 'hand-off', handOff: this.prefill(transfer) };
    const to = addressOf(params.remote_bootstrap_addr);
    const { remote_engine_id: engineId } = params;
    if (params.do_remote_prefill !== true || to === undefined || typeof engineId !== 'string') return PLAIN;
    const fetch = new MooncakeFetch(this.options, this.meter, to, transfer, engineId);
    return {
      kind: 'hand-off',
      handOff: {
        remoteKv: {
          tokens: () => request.promptIds.length,
          fetch: (tokens, done) => fetch.start(tokens, done),
          cancel: () => fetch.cancel(),
        },
        cancel: () => fetch.cancel(),
      },
    };
  }

  stats(): HandOffStats {
    return this.rooms.stats();
  }

  close(): void {
    this.endpoint?.close();
    this.rooms.closeAll();
  }

  private prefill(transfer: string): KvHandOff {
    return {
      retainsBlocks: true,
      finished: ({ retained, cachedTokens }, proceed) => {
        if (retained !== undefined) this.rooms.offer(transfer, retained, cachedTokens);
        proceed();
      },
      cancel: () => undefined,
    };
  }

  private receive(call: KvCall): void {
    const { message } = call;
    const isStranger = message.kind === 'await' && !this.engineIds.includes(message.engineId ?? '');
    if (isStranger) call.answer({ kind: 'refused' });
    else this.rooms.receive(call);
  }

  /** `GET /query`: which engine is behind each data-parallel rank, by which a router learns `remote_engine_id`. */
  private page(method: string, { pathname }: URL): KvPage | undefined {
    if (method !== 'GET' || pathname !== '/query') return undefined;
    const { host, port } = this.endpoint!;
    const worker_addr = { 0: { 0: `tcp://${host}:${port}` } };
    const body = Object.fromEntries(this.engineIds.map((engine_id, rank) => [rank, { engine_id, worker_addr }]));
    return { status: 200, contentType: 'application/json', body: JSON.stringify(body) };
  }
}

function addressOf(url: unknown): ListenAddress | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

class MooncakeFetch {
  private timer: Timer | undefined;
  private forget: () => void = () => undefined;
  private isOver = false;

  constructor(
    private readonly options: MooncakeOptions,
    private readonly meter: TransferMeter,
    private readonly to: ListenAddress,
    private readonly transfer: string,
    private readonly engineId: string,
  ) {}

  start(tokens: number, done: (result: FetchResult) => void): void {
    const { clock, fabric, link, transfer } = this.options;
    const send = (message: Parameters<KvFabric['send']>[1], then: () => void): void => {
      this.forget = fabric.send(this.to, message, (answer) => {
        if (this.isOver) return;
        if (answer !== 'lost' && answer.kind === 'ok') return then();
        this.meter.failed += 1;
        done(transfer.onLoadFailure === 'fail' ? 'failed' : 'missing');
      });
    };
    send({ kind: 'await', transfer: this.transfer, engineId: this.engineId }, () => {
      const takesMs = transferMs(link, tokens);
      this.timer = clock.after(takesMs, () =>
        send({ kind: 'received', transfer: this.transfer }, () => {
          this.meter.transferred(takesMs, tokens * link.bytesPerToken);
          done('arrived');
        }),
      );
    });
  }

  cancel(): void {
    this.isOver = true;
    this.timer?.cancel();
    this.forget();
  }
}
