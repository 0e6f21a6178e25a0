import { bootstrapRoom } from '../bootstrap-room';
import type { HandOffConnector, HandOffTerms, PrefillTarget } from '../connector';
import type { RankTurns } from '../rank-turns';

/**
 * SGLang's bootstrap protocol, whatever moves the bytes: both legs get the same request at the same time and meet in a room at prefill.
 * Neither does anything without a room, and prefill waits for ever where decode does not come, so that it is closed when decode fails.
 */
export class SglangHandOff implements HandOffConnector {
  readonly name = 'sglang';
  readonly order = 'both-at-once';
  readonly canSkipPrefill = false;
  /** One room is counted up for the others. */
  readonly several = 'one-hand-off';

  constructor(private readonly ranks: RankTurns) {}

  leaseMs(): undefined {
    return undefined;
  }

  open({ id, place }: PrefillTarget, generations: number): HandOffTerms {
    const { bootstrap, ranks } = place;
    const room = bootstrapRoom(this.ranks.next(id, ranks), ranks, generations);
    const text = `"bootstrap_host":${JSON.stringify(bootstrap.host)},"bootstrap_port":${bootstrap.port},"bootstrap_room":${room}`;
    return { prefillMembers: text, prefillHeaders: [], decodeMembers: () => ({ kind: 'members', text }) };
  }

  forget(): void {
    // Nothing is learned of a pod.
  }
}
