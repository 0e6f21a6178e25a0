import type { Timer } from '../../lib/clock';
import { type HandOffStats, NO_HAND_OFFS } from '../kv/hand-off-stats';
import type { KvAnswer, KvMessage } from '../kv/kv-fabric';
import type { KvHandOff } from '../kv/kv-hand-off';
import { transferMs } from '../kv/kv-link';
import type { FetchResult } from '../remote-kv';
import type { SglangTransfer, SglangTransferOptions, TransferRequest } from './sglang-transfer';

/** Recorded: how long decode tries when nobody listens at prefill's address. */
const HANDSHAKE_MS = 14_000;
/** Recorded: how long after its loss decode gives prefill up in mid-transfer. */
const LOST_MS = 11_000;

/**
 * SGLang's decode: takes memory for a request, meets prefill in the request's room, and goes on with prefill's KV and first token.
 * Nothing was recorded of a prefill that is there but never gets the request; decode waits then, until its client leaves.
 */
export class SglangDecode implements SglangTransfer {
  readonly role = 'decode';
  private underway = 0;

  constructor(private readonly options: SglangTransferOptions) {}

  rankOf(): undefined {
    return undefined;
  }

  handOff(request: TransferRequest): KvHandOff {
    const fetch = new RoomFetch(this.options, request, (by) => {
      this.underway += by;
    });
    return {
      get cachedTokens() {
        return fetch.cachedTokens;
      },
      get failure() {
        return fetch.failure;
      },
      remoteKv: {
        tokens: () => request.promptTokens,
        fetch: (tokens, done) => fetch.start(tokens, done),
        cancel: () => fetch.cancel(),
      },
      cancel: () => fetch.cancel(),
    };
  }

  waiting(): ReturnType<SglangTransfer['waiting']> {
    return { forDecode: 0, forTransfer: this.underway };
  }

  stats(): HandOffStats {
    return NO_HAND_OFFS;
  }

  close(): void {}
}

/** One request's way to the KV of its room. */
class RoomFetch {
  cachedTokens: number | undefined;
  failure: string | undefined;
  private timer: Timer | undefined;
  private forget: () => void = () => undefined;
  private isOver = true;

  constructor(
    private readonly options: SglangTransferOptions,
    private readonly request: TransferRequest,
    private readonly count: (by: 1 | -1) => void,
  ) {}

  start(tokens: number, done: (result: FetchResult) => void): void {
    const { clock, link } = this.options;
    const { room } = this.request;
    const { host, port } = this.target();
    this.isOver = false;
    this.count(1);
    const fail = (stage: 'handshake' | 'transfer', why: string, afterMs: number): void => {
      this.timer = clock.after(afterMs, () => {
        this.failure = `Decode ${stage} failed for request rank=0 decode_req.req.rid='${this.request.rid}' decode_req.req.bootstrap_room=${room} with exception KVTransferError(bootstrap_room=${room}): ${why}`;
        this.cancel();
        done('failed');
      });
    };
    const lost = (): void => fail('transfer', `Lost connection with prefill instance (bootstrap_addr: ${host}:${port})`, LOST_MS);

    this.send({ kind: 'hello' }, (greeting) => {
      if (greeting === 'lost') return fail('handshake', 'Aborted by AbortReq.', HANDSHAKE_MS);
      this.send({ kind: 'await', transfer: room }, (answer) => {
        if (answer === 'lost' || answer.kind === 'refused') return lost();
        this.timer = clock.after(transferMs(link, tokens), () =>
          this.send({ kind: 'received', transfer: room }, (end) => {
            if (end === 'lost') return lost();
            this.cachedTokens = answer.cachedTokens ?? 0;
            this.cancel();
            done('arrived');
          }),
        );
      });
    });
  }

  cancel(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.count(-1);
    this.timer?.cancel();
    this.forget();
  }

  private target(): { readonly host: string; readonly port: number } {
    const { host = '', port = this.options.transfer.bootstrapPort } = this.request;
    return { host, port };
  }

  private send(message: KvMessage, then: (answer: KvAnswer | 'lost') => void): void {
    const to = this.target();
    if (to.host === '') {
      then('lost');
      return;
    }
    this.forget = this.options.fabric.send(to, message, (answer) => {
      if (!this.isOver) then(answer);
    });
  }
}
