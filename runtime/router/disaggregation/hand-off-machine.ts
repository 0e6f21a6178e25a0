/** How far the hand-off of one request is. `handed`: prefill is done and decode has the request, but nothing of its answer came yet. */
export type HandOffStage = 'idle' | 'prefilling' | 'handed' | 'decoding' | 'done';

/** When decode gets its request: after prefill answered, or at the same time. */
export type HandOffOrder = 'prefill-first' | 'both-at-once';

export type LegState = 'unsent' | 'underway' | 'over';

/** What becomes of the KV that prefill computed: `kept` from prefill's answer until decode read it, or nobody will. */
export type KvState = 'none' | 'kept' | 'read' | 'left';

export type HandOffEnd = 'completed' | 'prefill-failed' | 'decode-failed' | 'cancelled';

export interface HandOffState {
  readonly stage: HandOffStage;
  readonly prefill: LegState;
  readonly decode: LegState;
  readonly kv: KvState;
  /** How it ended; undefined before. */
  readonly end?: HandOffEnd;
}

export type HandOffEvent =
  | 'start'
  /** Prefill answered well. */
  | 'prefilled'
  | 'prefill-failed'
  /** The first part of decode's answer that is no error came: it has the KV. */
  | 'decode-began'
  | 'decode-completed'
  | 'decode-failed'
  /** The client left, the request's time is over, or the router shuts down. */
  | 'cancel';

export type HandOffCommand =
  | 'send-prefill'
  | 'send-decode'
  | 'abort-prefill'
  | 'abort-decode'
  /** Decode is done, so that prefill's answer is on its way: it is waited for, and not for long. */
  | 'await-prefill';

export interface HandOffStep {
  readonly state: HandOffState;
  readonly commands: readonly HandOffCommand[];
}

export const IDLE: HandOffState = { stage: 'idle', prefill: 'unsent', decode: 'unsent', kv: 'none' };

const NOTHING: readonly HandOffCommand[] = [];

/** One step of a hand-off. Pure; an event that means nothing in a state changes nothing. */
export function handOffStep(state: HandOffState, event: HandOffEvent, order: HandOffOrder): HandOffStep {
  if (state.stage === 'done') return { state, commands: NOTHING };
  switch (event) {
    case 'start':
      if (state.stage !== 'idle') return { state, commands: NOTHING };
      return order === 'both-at-once'
        ? {
            state: { ...state, stage: 'prefilling', prefill: 'underway', decode: 'underway' },
            commands: ['send-prefill', 'send-decode'],
          }
        : { state: { ...state, stage: 'prefilling', prefill: 'underway' }, commands: ['send-prefill'] };
    case 'prefilled':
      return prefilled(state, order);
    case 'prefill-failed':
      if (state.stage === 'idle') return ended(state, 'prefill-failed');
      if (state.prefill !== 'underway') return { state, commands: NOTHING };
      // Decode that answers already has all that it needed.
      if (state.stage === 'decoding') return { state: { ...state, prefill: 'over' }, commands: NOTHING };
      return ended({ ...state, prefill: 'over' }, 'prefill-failed');
    case 'decode-began':
      if (state.decode !== 'underway' || state.stage === 'decoding') return { state, commands: NOTHING };
      return { state: { ...state, stage: 'decoding', kv: 'read' }, commands: NOTHING };
    case 'decode-completed':
      if (state.decode !== 'underway') return { state, commands: NOTHING };
      return ended({ ...state, decode: 'over', kv: 'read' }, 'completed');
    case 'decode-failed':
      if (state.decode !== 'underway') return { state, commands: NOTHING };
      return ended({ ...state, decode: 'over' }, 'decode-failed');
    case 'cancel':
      return ended(state, 'cancelled');
  }
}

function prefilled(state: HandOffState, order: HandOffOrder): HandOffStep {
  if (state.prefill !== 'underway') return { state, commands: NOTHING };
  const over: HandOffState = { ...state, prefill: 'over' };
  // A prefill that runs beside decode answers when decode has fetched its KV.
  if (order === 'both-at-once') {
    const stage = state.stage === 'decoding' ? 'decoding' : 'handed';
    return { state: { ...over, stage, kv: 'read' }, commands: NOTHING };
  }
  return { state: { ...over, stage: 'handed', decode: 'underway', kv: 'kept' }, commands: ['send-decode'] };
}

/** Ends whatever still runs. */
function ended(state: HandOffState, end: HandOffEnd): HandOffStep {
  const commands: HandOffCommand[] = [];
  if (state.decode === 'underway') commands.push('abort-decode');
  if (state.prefill === 'underway') commands.push(end === 'completed' ? 'await-prefill' : 'abort-prefill');
  const kv = state.kv === 'kept' ? 'left' : state.kv;
  return { state: { stage: 'done', prefill: over(state.prefill), decode: over(state.decode), kv, end }, commands };
}

function over(leg: LegState): LegState {
  return leg === 'underway' ? 'over' : leg;
}
