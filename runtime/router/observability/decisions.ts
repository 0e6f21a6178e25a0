import type { Random } from '../../lib/random';
import type { Decision, DecisionResult, DecisionRing } from './decision-ring';

/** Where decisions are written, one line each. */
export interface DecisionLog {
  /** Share of attempts, 0..1. */
  readonly sampleRatio: number;
  write(line: string): void;
  close(): void;
}

/** A decision that is remembered, until its attempt is over. */
export interface OpenDecision {
  end(result: DecisionResult): void;
}

/** Decisions that are kept for the debug port, and the share of them that is written to the decision log. */
export class Decisions {
  /** @param logOf the log as it is now. */
  constructor(
    private readonly ring: DecisionRing,
    private readonly random: Random,
    private readonly logOf: () => DecisionLog | undefined,
  ) {}

  /** @param explain called only for a decision that is remembered. @returns undefined for one that is not, as most. */
  made(nowMs: number, explain: () => Decision): OpenDecision | undefined {
    const log = this.logOf();
    const isLogged = log !== undefined && this.random.next() < log.sampleRatio;
    const isKept = this.ring.wants(nowMs);
    if (!isLogged && !isKept) return undefined;
    const decision = explain();
    if (isKept) this.ring.add(decision);
    return {
      end: (result) => {
        decision.result = result;
        if (isLogged) log.write(JSON.stringify(decision));
      },
    };
  }
}
