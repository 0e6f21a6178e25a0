import { request } from 'undici';
import { authority } from '../../../../src/expand/pod-address';
import { RequestIds } from '../../request/request-ids';
import type { HandOffConnector, HandOffTerms, PrefillTarget } from '../connector';
import type { RankTurns } from '../rank-turns';

/** vLLM's `VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT`. */
const DEFAULT_LEASE_MS = 480_000;
/** Most bytes of a bootstrap server's answer: it names each rank in a few hundred. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Engine id by data-parallel rank. */
type EngineIds = ReadonlyMap<number, string>;

/**
 * vLLM's MooncakeConnector: both legs name one transfer, and decode is told the engine behind the rank that prefills, which the
 * bootstrap server of prefill knows. Decode is asked second, so that it takes no memory while it could only wait, and so that a client
 * who leaves during prefill leaves nothing behind there.
 */
export class MooncakeHandOff implements HandOffConnector {
  readonly name = 'mooncake';
  readonly order = 'prefill-first';
  readonly canSkipPrefill = true;
  /** A transfer is one generation's. */
  readonly several = 'whole';
  private readonly ids = new RequestIds();
  private readonly engines = new Map<string, Promise<EngineIds>>();

  /** @param timeoutMs for the bootstrap server, in real milliseconds. */
  constructor(
    private readonly ranks: RankTurns,
    private readonly timeoutMs: number,
  ) {}

  leaseMs({ leaseMs }: PrefillTarget['place']): number {
    return leaseMs ?? DEFAULT_LEASE_MS;
  }

  async open(prefill: PrefillTarget): Promise<HandOffTerms> {
    const engineIds = await this.enginesOf(prefill);
    const rank = this.ranks.next(prefill.id, Math.max(1, engineIds.size));
    const engineId = engineIds.get(rank);
    if (engineId === undefined) throw new Error(`the bootstrap server names no engine of rank ${rank}`);
    const transfer = JSON.stringify(this.ids.make());
    const bootstrap = JSON.stringify(`http://${authority(prefill.place.bootstrap)}`);
    const text = `"kv_transfer_params":{"do_remote_prefill":true,"do_remote_decode":false,"remote_engine_id":${JSON.stringify(engineId)},"remote_bootstrap_addr":${bootstrap},"transfer_id":${transfer}}`;
    return {
      prefillMembers: `"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":${transfer}}`,
      prefillHeaders: engineIds.size > 1 ? ['x-data-parallel-rank', String(rank)] : [],
      decodeMembers: () => ({ kind: 'members', text }),
    };
  }

  forget(prefillId: string): void {
    this.engines.delete(prefillId);
  }

  /** Asked once for each pod: an engine keeps its id for as long as it runs. */
  private enginesOf({ id, place }: PrefillTarget): Promise<EngineIds> {
    let known = this.engines.get(id);
    if (known === undefined) {
      known = queryEngines(`http://${authority(place.bootstrap)}/query`, this.timeoutMs);
      this.engines.set(id, known);
      known.catch(() => this.engines.delete(id));
    }
    return known;
  }
}

async function queryEngines(url: string, timeoutMs: number): Promise<EngineIds> {
  const { statusCode, headers, body } = await request(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (statusCode !== 200 || Number(headers['content-length'] ?? 0) > MAX_ANSWER_BYTES) {
    await body.dump();
    throw new Error(`the bootstrap server answered ${statusCode}`);
  }
  const answer = (await body.json()) as Readonly<Record<string, { readonly engine_id?: unknown }>> | null;
  const ids = new Map<number, string>();
  for (const [rank, { engine_id: id }] of Object.entries(answer ?? {})) if (typeof id === 'string') ids.set(Number(rank), id);
  return ids;
}
