import type { Pod } from '../../../src/api/pod';
import { mostStarting, NEVER_STARTED, nextStart, type StartState } from '../decide/back-off';
import type { Decision } from '../decide/decision';
import type { UnitObservation } from '../decide/observation';
import type { PolicyUnit } from '../policy';
import { readyReplicas } from '../report/ready-replicas';
import { startDurationMs, startTrouble } from './start-trouble';
import { podState } from './target-pods';

interface Entry {
  readonly state: StartState;
  /** Mean of starts, later ones weighing more. */
  readonly startMs?: number;
  /** Pods whose start is in the mean, and those whose loss was counted. */
  readonly counted: ReadonlySet<string>;
}

/** Weight of one more start in the mean. An assumption. */
const NEWEST_SHARE = 0.3;

/** How pods of each target start, by policy and unit, in this process. */
export class StartBook {
  private readonly entries = new Map<string, Entry>();

  /** What one round shows of a unit's pods, and what follows for it. Of a role as many replicas are ready as are so in every group. */
  observe(
    policyId: string,
    { name: unit, role }: Pick<PolicyUnit, 'name' | 'role'>,
    pods: readonly Pod[],
    current: number,
    nowMs: number,
  ): Pick<UnitObservation, 'backOff' | 'startMs'> {
    const known = this.entries.get(keyOf(policyId, unit)) ?? { state: NEVER_STARTED, counted: new Set<string>() };
    let { startMs } = known;
    for (const pod of pods) {
      const tookMs = known.counted.has(idOf(pod)) ? undefined : startDurationMs(pod);
      if (tookMs !== undefined) startMs = startMs === undefined ? tookMs : startMs + NEWEST_SHARE * (tookMs - startMs);
    }
    const troubles = pods.flatMap((pod) => {
      const trouble = startTrouble(pod);
      // One loss is one reason to back off, however long the dead pod is to be seen.
      return trouble === undefined || (trouble.kind === 'reclaimed' && known.counted.has(idOf(pod))) ? [] : [trouble];
    });
    const ready = readyReplicas(pods, role);
    const state = nextStart(known.state, { ready, trouble: troubles[0] }, nowMs);
    const counted = new Set(pods.filter((pod) => podState(pod) === 'ready' || startTrouble(pod)?.kind === 'reclaimed').map(idOf));
    this.entries.set(keyOf(policyId, unit), { state, counted, ...(startMs !== undefined && { startMs }) });
    const backOff = mostStarting(state, current, nowMs);
    return { ...(backOff && { backOff }), ...(startMs !== undefined && { startMs }) };
  }

  /** Growth that a quota or budget refused: for a while the next cheapest pool takes its share. */
  noteRefused(policyId: string, decision: Decision, nowMs: number): void {
    for (const { name, limits } of decision.units) {
      const refusal = limits.find(({ rule }) => rule === 'budget');
      const entry = this.entries.get(keyOf(policyId, name));
      if (refusal === undefined || entry === undefined) continue;
      const trouble = { kind: 'no-room', message: refusal.by ?? '' } as const;
      const state = nextStart({ ...entry.state, troubledSinceMs: nowMs }, { ready: entry.state.ready, trouble }, nowMs);
      this.entries.set(keyOf(policyId, name), { ...entry, state });
    }
  }

  keepOnly(policyIds: ReadonlySet<string>): void {
    for (const key of this.entries.keys()) if (!policyIds.has(key.slice(0, key.indexOf('\n')))) this.entries.delete(key);
  }
}

function keyOf(policyId: string, unit: string): string {
  return `${policyId}\n${unit}`;
}

function idOf({ metadata }: Pod): string {
  return metadata.uid ?? metadata.name;
}
