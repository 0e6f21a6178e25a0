import type { Engine } from './engine/engine';
import { type HttpConnectorOptions, plainHttp, sharedFolderOnVllm } from './kv-connector/http';
import { checkedLmCache, type LmCacheOptions, lmCacheOnVllm } from './kv-connector/lmcache';
import { type MooncakeOptions, mooncakeOnVllm } from './kv-connector/mooncake';
import { type NixlOptions, nixlOnVllm } from './kv-connector/nixl';
import { type SglangBootstrapOptions, sglangBootstrap } from './kv-connector/sglang-bootstrap';
import type { KvWiring, RdmaNetwork } from './kv-connector/wiring';

/** The wiring of a connector, for each engine that it works on. */
interface Dialects {
  readonly vLLM: (engine: Engine) => KvWiring | undefined;
  readonly SGLang: () => KvWiring | undefined;
}

const unknown = () => undefined;

/**
 * How the KV cache of a prompt travels from prefill to decode. One value decides the engine flags, ports, environment and network of both
 * roles and how the router hands requests over.
 *
 * @example
 * KvConnector.nixl();
 * KvConnector.mooncake({ network: { resource: 'rdma/hca', count: 1 } });
 */
export class KvConnector {
  /** NIXL: decode reads prefill's memory, by RDMA or TCP. vLLM (NixlConnector) and SGLang. */
  static nixl(options: NixlOptions = {}): KvConnector {
    const { network, bootstrapPort } = options;
    return new KvConnector('nixl', network, {
      vLLM: () => nixlOnVllm(options),
      SGLang: () => sglangBootstrap({ backend: 'nixl', network, bootstrapPort }),
    });
  }

  /** Mooncake: prefill writes into decode's memory, by RDMA or TCP. vLLM (MooncakeConnector) and SGLang. */
  static mooncake(options: MooncakeOptions = {}): KvConnector {
    const { network, bootstrapPort } = options;
    return new KvConnector('mooncake', network, {
      vLLM: () => mooncakeOnVllm(options),
      SGLang: () => sglangBootstrap({ network, bootstrapPort }),
    });
  }

  /** LMCache: KV travels through a store that both roles reach. vLLM (LMCacheConnectorV1), in an image that has LMCache. */
  static lmcache(options: LmCacheOptions): KvConnector {
    const checked = checkedLmCache(options);
    return new KvConnector('lmcache', options.network, { vLLM: () => lmCacheOnVllm(checked), SGLang: unknown });
  }

  /** Plain HTTP: the router sends the prompt to prefill, then to decode. vLLM with a shared folder, and custom engines. */
  static http(options: HttpConnectorOptions = {}): KvConnector {
    return new KvConnector('http', options.network, {
      vLLM: ({ release }) => sharedFolderOnVllm(options, release?.version) ?? (release === undefined ? plainHttp() : undefined),
      SGLang: unknown,
    });
  }

  /** SGLang's bootstrap protocol with any of its transfer backends. */
  static sglang(options: SglangBootstrapOptions = {}): KvConnector {
    return new KvConnector('sglang', options.network, { vLLM: unknown, SGLang: () => sglangBootstrap(options) });
  }

  private constructor(
    readonly name: 'nixl' | 'mooncake' | 'lmcache' | 'http' | 'sglang',
    /** Network cards of every pod of both roles; undefined when it takes none. */
    readonly network: RdmaNetwork | undefined,
    private readonly dialects: Dialects,
  ) {
    const count = network?.count ?? 1;
    if (!Number.isInteger(count) || count < 1)
      throw new RangeError(`KvConnector.${name}: network.count ${count} is no count ≥ 1`);
  }

  /** How it works on `engine`; undefined when it does not. A custom engine counts as the one that it imitates. */
  wiringFor(engine: Engine): KvWiring | undefined {
    return this.dialects[engine.apiName](engine);
  }
}

/** The maker of a connector that works on `engine` without further objects, for messages. */
export function workingConnector({ apiName, release }: Engine): string {
  if (release === undefined) return 'KvConnector.http()';
  return apiName === 'SGLang' ? 'KvConnector.mooncake()' : 'KvConnector.nixl()';
}
