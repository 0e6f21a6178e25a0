import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { Clock } from '../../lib/clock';
import type { Random } from '../../lib/random';
import type { KvFabric } from '../kv/kv-fabric';
import type { KvLink } from '../kv/kv-link';
import { MooncakeConnector } from './mooncake-connector';
import { NixlConnector } from './nixl-connector';
import { StoreConnector } from './store-connector';
import type { VllmConnector } from './vllm-connector';

export interface ConnectorOptions {
  readonly plan: EnginePlan;
  readonly host: string;
  /** Instead of the plan's side channel or bootstrap port; 0 takes a free one. */
  readonly kvPort: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly fabric: KvFabric;
  readonly link: KvLink;
  readonly crash: () => void;
}

/** @returns one for each data-parallel rank, or one that all of them share; none for a plan that keeps its KV. @throws KvasirError `listen/…` */
export async function startConnectors(options: ConnectorOptions): Promise<readonly VllmConnector[]> {
  const { plan, host, kvPort, clock, random, fabric, link, crash } = options;
  const transfer = plan.kvTransfer;
  const ranks = plan.dataParallelSize ?? 1;
  switch (transfer?.connector) {
    case 'nixl': {
      const first = kvPort ?? transfer.sideChannelPort;
      const started: NixlConnector[] = [];
      try {
        for (let rank = 0; rank < ranks; rank++) {
          const address = { host, port: first === 0 ? 0 : first + rank };
          started.push(await NixlConnector.start({ plan, transfer, address, clock, random, fabric, link, crash }));
        }
      } catch (error) {
        for (const connector of started) connector.close();
        throw error;
      }
      return started;
    }
    case 'mooncake': {
      const address = { host, port: kvPort ?? transfer.bootstrapPort };
      return [await MooncakeConnector.start({ transfer, ranks, address, clock, random, fabric, link })];
    }
    case 'store':
      return [new StoreConnector({ transfer, clock, fabric, link })];
    default:
      return [];
  }
}
