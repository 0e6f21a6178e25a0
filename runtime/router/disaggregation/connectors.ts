import type { ModelServer } from '../../../src/api/model-server';
import type { HandOffConnector } from './connector';
import { httpConnector } from './connectors/http';
import { MooncakeHandOff } from './connectors/mooncake';
import { nixlConnector } from './connectors/nixl';
import { SglangHandOff } from './connectors/sglang';
import { RankTurns } from './rank-turns';

/** The connectors of one router, with what they remember of pods. */
export class Connectors {
  private readonly ranks = new RankTurns();
  private readonly mooncake: HandOffConnector;
  private readonly sglang: HandOffConnector;

  /** @param timeoutMs for questions to bootstrap servers, in real milliseconds. */
  constructor(timeoutMs: number) {
    this.mooncake = new MooncakeHandOff(this.ranks, timeoutMs);
    this.sglang = new SglangHandOff(this.ranks);
  }

  /**
   * How a ModelServer's pods hand over. SGLang has one protocol, whatever `kvConnector` says: its `type` is filled in as `http` where
   * somebody only wrote `kvConnector: {}`.
   */
  of({ spec }: ModelServer): HandOffConnector {
    if (spec.inferenceEngine === 'SGLang') return this.sglang;
    switch (spec.kvConnector?.type) {
      case 'nixl':
        return nixlConnector;
      case 'mooncake':
        return this.mooncake;
      default:
        return httpConnector;
    }
  }

  /** A pod is gone. */
  forget(endpointId: string): void {
    this.mooncake.forget(endpointId);
    this.ranks.forget(endpointId);
  }
}
