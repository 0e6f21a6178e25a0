import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { KvTransferPlan } from '../../../src/expand/kv-transfer-plan';
import type { Clock, Timer } from '../../lib/clock';
import type { ListenAddress } from '../../lib/http-listen';
import type { Random } from '../../lib/random';
import type { EngineOutcome } from '../engine-request';
import type { JsonObject } from '../http/json-body';
import { hexId } from '../ids';
import type { HandOffStats } from '../kv/hand-off-stats';
import { HeldBlocks } from '../kv/held-blocks';
import type { KvCall, KvEndpoint, KvFabric } from '../kv/kv-fabric';
import type { KvHandOff } from '../kv/kv-hand-off';
import { type KvLink, transferMs } from '../kv/kv-link';
import { TransferMeter } from '../kv/transfer-meter';
import type { FetchResult } from '../remote-kv';
import { type HandOffRequest, PLAIN, type PreparedHandOff, type VllmConnector } from './vllm-connector';

/** Recorded: how long decode tries before it gives the request up, from its first attempt. */
const FAILURE_MS = 5_000;
/** Decode renews a lease this many times within its length. */
const RENEWALS_PER_LEASE = 6;

export interface NixlOptions {
  readonly plan: EnginePlan;
  readonly transfer: Extract<KvTransferPlan, { readonly connector: 'nixl' }>;
  /** Where its side channel listens. */
  readonly address: ListenAddress;
  readonly clock: Clock;
  readonly random: Random;
  readonly fabric: KvFabric;
  readonly link: KvLink;
  /** Ends the engine core, as a broken assertion in it does. */
  readonly crash: () => void;
}

/**
 * vLLM's NixlConnector: prefill keeps a request's blocks and tells where they are; decode reads them and says so. Both roles can do
 * both. As recorded of 0.32.0; what wrong parameters do to decode is what they did to it.
 */
export class NixlConnector implements VllmConnector {
  readonly meter = new TransferMeter();
  private readonly engineId: string;
  private readonly compatibility: string;
  private readonly held: HeldBlocks;
  private endpoint: KvEndpoint | undefined;

  private constructor(private readonly options: NixlOptions) {
    const { random, plan, clock, transfer } = options;
    this.engineId = [8, 4, 4, 4, 12].map((digits) => hexId(random, digits)).join('-');
    this.compatibility = JSON.stringify([plan.version, plan.model, plan.dtype ?? null, plan.kvCacheDtype ?? null]);
    this.held = new HeldBlocks(clock, transfer.leaseSeconds * 1000);
  }

  /** @throws KvasirError `listen/…` when its side channel cannot listen. */
  static async start(options: NixlOptions): Promise<NixlConnector> {
    const connector = new NixlConnector(options);
    connector.endpoint = await options.fabric.listen(options.address, (call) => connector.receive(call));
    return connector;
  }

  get address(): ListenAddress {
    return this.endpoint!;
  }

  prepare(params: JsonObject | undefined, request: HandOffRequest): PreparedHandOff {
    if (params?.do_remote_prefill === true) return this.decode(params, request);
    if (params?.do_remote_decode === true) return { kind: 'hand-off', handOff: this.prefill(request) };
    return PLAIN;
  }

  stats(): HandOffStats {
    return this.held.stats();
  }

  close(): void {
    this.endpoint?.close();
    this.held.dropAll();
  }

  private receive({ message, answer }: KvCall): void {
    switch (message.kind) {
      case 'read': {
        const isMine = message.engineId === this.engineId && message.compatibility === this.compatibility;
        if (isMine) this.held.renew(message.requestId);
        // Memory that is no longer kept is read all the same: the reader cannot know.
        answer({ kind: isMine ? 'ok' : 'refused' });
        break;
      }
      case 'renew':
        this.held.renew(message.requestId);
        answer({ kind: 'ok' });
        break;
      case 'release':
        this.held.take(message.requestId);
        answer({ kind: 'ok' });
        break;
      default:
        answer({ kind: 'refused' });
    }
  }

  private prefill({ id }: HandOffRequest): KvHandOff {
    const { plan } = this.options;
    const { host, port } = this.endpoint!;
    let params: JsonObject | null = null;
    return {
      retainsBlocks: true,
      finished: ({ retained, cachedTokens, generatedTokens }: EngineOutcome, proceed) => {
        if (retained !== undefined) {
          this.held.hold(id, retained);
          params = {
            do_remote_prefill: true,
            do_remote_decode: false,
            // Block 0 is vLLM's placeholder.
            remote_block_ids: [retained.blocks.map((block) => block + 1)],
            remote_engine_id: this.engineId,
            remote_request_id: id,
            remote_host: host,
            remote_port: port,
            tp_size: plan.tensorParallelSize,
            dcp_size: 1,
            pp_size: plan.pipelineParallelSize ?? 1,
            remote_num_tokens: retained.tokens,
            remote_blocks_expiry_time: null,
            transfer_mode: 'pull',
            // Recorded: only of a leg that made one token.
            ...(generatedTokens === 1 ? { remote_prefill_cached_tokens: cachedTokens } : {}),
          };
        }
        proceed();
      },
      params: () => params,
      cancel: () => undefined,
    };
  }

  private decode(params: JsonObject, request: HandOffRequest): PreparedHandOff {
    if (!Array.isArray(params.remote_block_ids)) return { kind: 'fatal' };
    const { remote_host: host, remote_port: port, remote_engine_id: engineId, remote_request_id: requestId } = params;
    if (typeof host !== 'string' || typeof port !== 'number' || typeof engineId !== 'string' || typeof requestId !== 'string') {
      return { kind: 'hand-off', handOff: this.hanging() };
    }
    const cached = params.remote_prefill_cached_tokens;
    const pull = new Pull(this.options, this.meter, {
      to: { host, port },
      engineId,
      requestId,
      compatibility: this.compatibility,
    });
    return {
      kind: 'hand-off',
      handOff: {
        cachedTokens: typeof cached === 'number' ? cached : 0,
        whenReady: (start) => {
          pull.begin();
          start();
        },
        remoteKv: {
          tokens: () => request.promptIds.length,
          fetch: (tokens, done) => pull.fetch(tokens, done),
          cancel: () => pull.cancel(),
        },
        finished: (_outcome, proceed) => {
          pull.cancel();
          proceed();
        },
        cancel: () => pull.cancel(),
      },
    };
  }

  /** Recorded without `remote_host`: no answer, and when the client gives up the engine core dies. */
  private hanging(): KvHandOff {
    return { whenReady: () => undefined, cancel: () => this.options.crash() };
  }
}

interface Source {
  readonly to: ListenAddress;
  readonly engineId: string;
  readonly requestId: string;
  readonly compatibility: string;
}

/** One request's way to the blocks of another engine. */
class Pull {
  private timer: Timer | undefined;
  private heartbeat: Timer | undefined;
  private forget: () => void = () => undefined;
  private isOver = false;

  constructor(
    private readonly options: NixlOptions,
    private readonly meter: TransferMeter,
    private readonly source: Source,
  ) {}

  /** Keeps the lease alive from now on, however long the request waits. */
  begin(): void {
    const { clock, fabric, transfer } = this.options;
    this.heartbeat = clock.after((transfer.leaseSeconds * 1000) / RENEWALS_PER_LEASE, () => {
      fabric.send(this.source.to, { kind: 'renew', requestId: this.source.requestId }, () => undefined);
      this.begin();
    });
  }

  fetch(tokens: number, done: (result: FetchResult) => void): void {
    const { clock, fabric, link, transfer } = this.options;
    const { to, engineId, requestId, compatibility } = this.source;
    const startMs = clock.monotonic();
    const fail = (): void => {
      this.meter.failed += 1;
      this.timer = clock.after(Math.max(0, startMs + FAILURE_MS - clock.monotonic()), () => {
        this.cancel();
        done(transfer.onLoadFailure === 'fail' ? 'failed' : 'missing');
      });
    };
    const send = (message: Parameters<KvFabric['send']>[1], then: () => void): void => {
      this.forget = fabric.send(to, message, (answer) => {
        if (this.isOver) return;
        if (answer === 'lost' || answer.kind === 'refused') fail();
        else then();
      });
    };
    send({ kind: 'read', engineId, requestId, compatibility }, () => {
      const takesMs = transferMs(link, tokens);
      this.timer = clock.after(takesMs, () =>
        send({ kind: 'release', requestId }, () => {
          this.meter.transferred(takesMs, tokens * link.bytesPerToken);
          this.cancel();
          done('arrived');
        }),
      );
    });
  }

  cancel(): void {
    this.isOver = true;
    this.timer?.cancel();
    this.heartbeat?.cancel();
    this.forget();
  }
}
