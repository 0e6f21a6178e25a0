import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { LeaseRecord, ReadLease } from './lease-record';

/** How an election is held. All times in milliseconds. */
export interface ElectionRules {
  /** Who this process is; no other one, earlier or later, has the same name. */
  readonly identity: string;
  /** How long others wait after a renewal before they take the lease. */
  readonly leaseDurationMs: number;
  /** How long after a renewal was sent this process still leads. Shorter than the lease by what clocks may differ in speed. */
  readonly renewDeadlineMs: number;
  /** Time from one try to the next. */
  readonly retryPeriodMs: number;
}

/** Why this process does not lead any more. It never leads again. */
export type Ending =
  | { readonly kind: 'released' }
  /** The lease was not renewed in time. */
  | { readonly kind: 'late'; readonly trouble: string }
  /** Somebody else has the lease. */
  | { readonly kind: 'taken'; readonly by: string };

/** What is to be done next, or since when nothing. */
type Phase =
  | { readonly kind: 'read' }
  /** Under the version that was read; undefined: there is no Lease. */
  | { readonly kind: 'write'; readonly version: string | undefined }
  | { readonly kind: 'rest'; readonly untilMs: number; readonly version?: string };

interface SeenLease {
  readonly lease: ReadLease;
  /** Since when it has not changed, by this process's own clock: that of the holder may be off. */
  readonly sinceMs: number;
}

export type ElectionState =
  | { readonly kind: 'standby'; readonly phase: Phase; readonly seen?: SeenLease; readonly trouble?: string }
  | {
      readonly kind: 'leading';
      readonly phase: Phase;
      readonly record: LeaseRecord;
      /** From here on this process does not lead, by its own monotonic clock. */
      readonly deadlineMs: number;
      readonly trouble?: string;
    }
  | { readonly kind: 'over'; readonly ending: Ending };

export type ElectionStep =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly record: LeaseRecord; readonly version: string | undefined }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'end' };

export type ElectionEvent =
  | { readonly kind: 'read'; readonly atMs: number; readonly outcome: ReadOutcome<ReadLease> }
  /** `sentMs` is taken before the write is sent. */
  | {
      readonly kind: 'written';
      readonly sentMs: number;
      readonly atMs: number;
      readonly record: LeaseRecord;
      readonly outcome: WriteOutcome;
    }
  | { readonly kind: 'woke'; readonly atMs: number }
  | { readonly kind: 'released' };

export const ELECTION_START: ElectionState = { kind: 'standby', phase: { kind: 'read' } };

/** Whether `state` lets this process write at `atMs`. */
export function leads(state: ElectionState, atMs: number): boolean {
  return state.kind === 'leading' && atMs < state.deadlineMs;
}

/** Whether somebody else was seen to lead, and still may. */
export function standsBy(state: ElectionState, { identity }: ElectionRules, atMs: number): boolean {
  return state.kind === 'standby' && state.seen !== undefined && !isFree(state.seen, identity, atMs);
}

/** What to do at `atMs`. @param nowMs milliseconds since the epoch, for the record. Pure. */
export function nextStep(state: ElectionState, rules: ElectionRules, atMs: number, nowMs: number): ElectionStep {
  if (state.kind === 'over') return { kind: 'end' };
  const { phase } = state;
  switch (phase.kind) {
    case 'read':
      return { kind: 'read' };
    case 'rest': {
      // Whoever leads wakes at the deadline at the latest, to say that it is over.
      const untilMs = state.kind === 'leading' ? Math.min(phase.untilMs, state.deadlineMs) : phase.untilMs;
      return { kind: 'wait', ms: Math.max(0, untilMs - atMs) };
    }
    case 'write':
      return { kind: 'write', record: recordOf(state, rules, nowMs), version: phase.version };
  }
}

/** The state after `event`. Pure. */
export function afterEvent(state: ElectionState, event: ElectionEvent, rules: ElectionRules): ElectionState {
  if (state.kind === 'over') return state;
  if (event.kind === 'released') return { kind: 'over', ending: { kind: 'released' } };
  // Lost is lost: what came too late counts for nothing, also when it was good.
  if (state.kind === 'leading' && event.atMs >= state.deadlineMs) {
    const trouble = state.trouble ?? 'this process was held up';
    return { kind: 'over', ending: { kind: 'late', trouble: failureOf(event) ?? trouble } };
  }
  return state.kind === 'leading' ? whileLeading(state, event, rules) : whileStandby(state, event, rules);
}

type Standby = Extract<ElectionState, { kind: 'standby' }>;
type Leading = Extract<ElectionState, { kind: 'leading' }>;
type Happened = Exclude<ElectionEvent, { kind: 'released' }>;

function whileStandby(state: Standby, event: Happened, rules: ElectionRules): ElectionState {
  const rest: Phase = { kind: 'rest', untilMs: event.atMs + pauseAfter(event, rules) };
  switch (event.kind) {
    case 'woke':
      return { ...state, phase: { kind: 'read' } };
    case 'read': {
      const { outcome, atMs } = event;
      if (outcome.kind === 'found') {
        const isOld = outcome.value.version === state.seen?.lease.version;
        const seen: SeenLease = isOld ? state.seen! : { lease: outcome.value, sinceMs: atMs };
        const isMine = isFree(seen, rules.identity, atMs);
        return { kind: 'standby', seen, phase: isMine ? { kind: 'write', version: seen.lease.version } : rest };
      }
      if (outcome.kind !== 'gone') return { ...withoutTrouble(state), phase: rest, trouble: outcomeText(outcome) };
      // Whoever deletes a Lease does not end its holder: that one is waited for all the same.
      const isMine = state.seen === undefined || isFree(state.seen, rules.identity, atMs);
      return { ...withoutTrouble(state), phase: isMine ? { kind: 'write', version: undefined } : rest };
    }
    case 'written': {
      const { outcome, sentMs, atMs, record } = event;
      const deadlineMs = sentMs + rules.renewDeadlineMs;
      if (outcome.kind !== 'applied' && outcome.kind !== 'unchanged') {
        // After a conflict somebody else has it; after a silence it may be ours. Reading tells.
        const isPassing = outcome.kind === 'conflict' || outcome.kind === 'gone';
        return { ...withoutTrouble(state), phase: rest, ...(isPassing ? {} : { trouble: outcomeText(outcome) }) };
      }
      // The answer took so long that others may soon hold the lease for abandoned.
      if (atMs >= deadlineMs) return { ...withoutTrouble(state), phase: { kind: 'read' } };
      return { kind: 'leading', phase: { ...rest, version: outcome.version }, record, deadlineMs };
    }
  }
}

function whileLeading(state: Leading, event: Happened, rules: ElectionRules): ElectionState {
  const version = state.phase.kind === 'read' ? undefined : state.phase.version;
  const rest: Phase = { kind: 'rest', untilMs: event.atMs + pauseAfter(event, rules), ...(version && { version }) };
  switch (event.kind) {
    case 'woke':
      return { ...state, phase: { kind: 'write', version } };
    case 'read': {
      const { outcome } = event;
      if (outcome.kind === 'found') {
        const { holder, version: found } = outcome.value;
        if (holder !== undefined && holder !== rules.identity) {
          return { kind: 'over', ending: { kind: 'taken', by: holder } };
        }
        return { ...state, phase: { kind: 'write', version: found } };
      }
      if (outcome.kind === 'gone') return { ...state, phase: { kind: 'write', version: undefined } };
      return { ...state, phase: rest, trouble: outcomeText(outcome) };
    }
    case 'written': {
      const { outcome, sentMs, record } = event;
      switch (outcome.kind) {
        case 'applied':
        case 'unchanged': {
          const renewed = Math.max(state.deadlineMs, sentMs + rules.renewDeadlineMs);
          return { kind: 'leading', phase: { ...rest, version: outcome.version }, record, deadlineMs: renewed };
        }
        case 'conflict':
          return { ...state, phase: { kind: 'read' } };
        case 'gone':
          return { ...state, phase: { kind: 'write', version: undefined } };
        default:
          return { ...state, phase: rest, trouble: outcomeText(outcome) };
      }
    }
  }
}

/** Whether the lease may be taken: given back, run out, or our own from a write whose answer was lost. */
function isFree({ lease, sinceMs }: SeenLease, identity: string, atMs: number): boolean {
  return lease.holder === undefined || lease.holder === identity || atMs - sinceMs >= lease.durationMs;
}

function recordOf(state: Standby | Leading, { identity, leaseDurationMs }: ElectionRules, nowMs: number): LeaseRecord {
  if (state.kind === 'leading') return { ...state.record, durationMs: leaseDurationMs };
  const before = state.seen?.lease;
  const isOwn = before?.holder === identity;
  return {
    holder: identity,
    durationMs: leaseDurationMs,
    transitions: before === undefined ? 0 : before.transitions + (isOwn ? 0 : 1),
    acquiredMs: isOwn ? before.acquiredMs : nowMs,
  };
}

function pauseAfter(event: Happened, { retryPeriodMs }: ElectionRules): number {
  const isThrottled = event.kind !== 'woke' && event.outcome.kind === 'throttled';
  return isThrottled ? Math.max(retryPeriodMs, event.outcome.afterMs) : retryPeriodMs;
}

function withoutTrouble({ trouble: _, ...state }: Standby): Standby {
  return state;
}

function failureOf(event: Happened): string | undefined {
  return event.kind === 'woke' ? undefined : outcomeText(event.outcome);
}

/** Why an outcome is none; undefined for one that is. */
function outcomeText(outcome: ReadOutcome<unknown> | WriteOutcome): string | undefined {
  switch (outcome.kind) {
    case 'forbidden':
    case 'invalid':
    case 'unavailable':
      return outcome.message;
    case 'throttled':
      return 'the API server throttles';
    default:
      return undefined;
  }
}
