import fc from 'fast-check';
import {
  type HandOffCommand,
  type HandOffEvent,
  type HandOffOrder,
  type HandOffState,
  handOffStep,
  IDLE,
} from '../../../../runtime/router/disaggregation/hand-off-machine';

const EVENTS: readonly HandOffEvent[] = [
  'start',
  'prefilled',
  'prefill-failed',
  'decode-began',
  'decode-completed',
  'decode-failed',
  'cancel',
];
const ORDERS: readonly HandOffOrder[] = ['prefill-first', 'both-at-once'];

interface Walk {
  readonly states: readonly HandOffState[];
  readonly commands: readonly HandOffCommand[];
}

function walk(order: HandOffOrder, events: readonly HandOffEvent[]): Walk {
  const states: HandOffState[] = [IDLE];
  const commands: HandOffCommand[] = [];
  for (const event of events) {
    const step = handOffStep(states.at(-1)!, event, order);
    states.push(step.state);
    commands.push(...step.commands);
  }
  return { states, commands };
}

describe('a hand-off', () => {
  it.each<[HandOffOrder, readonly HandOffEvent[], string, readonly HandOffCommand[], string]>([
    [
      'prefill-first',
      ['start', 'prefilled', 'decode-began', 'decode-completed'],
      'completed',
      ['send-prefill', 'send-decode'],
      'read',
    ],
    ['prefill-first', ['start', 'prefilled', 'decode-completed'], 'completed', ['send-prefill', 'send-decode'], 'read'],
    ['prefill-first', ['prefill-failed'], 'prefill-failed', [], 'none'],
    ['prefill-first', ['start', 'prefill-failed'], 'prefill-failed', ['send-prefill'], 'none'],
    ['prefill-first', ['start', 'prefilled', 'decode-failed'], 'decode-failed', ['send-prefill', 'send-decode'], 'left'],
    [
      'prefill-first',
      ['start', 'prefilled', 'decode-began', 'decode-failed'],
      'decode-failed',
      ['send-prefill', 'send-decode'],
      'read',
    ],
    ['prefill-first', ['cancel'], 'cancelled', [], 'none'],
    ['prefill-first', ['start', 'cancel'], 'cancelled', ['send-prefill', 'abort-prefill'], 'none'],
    ['prefill-first', ['start', 'prefilled', 'cancel'], 'cancelled', ['send-prefill', 'send-decode', 'abort-decode'], 'left'],
    [
      'prefill-first',
      ['start', 'prefilled', 'decode-began', 'cancel'],
      'cancelled',
      ['send-prefill', 'send-decode', 'abort-decode'],
      'read',
    ],
    [
      'both-at-once',
      ['start', 'prefilled', 'decode-began', 'decode-completed'],
      'completed',
      ['send-prefill', 'send-decode'],
      'read',
    ],
    [
      'both-at-once',
      ['start', 'decode-began', 'decode-completed'],
      'completed',
      ['send-prefill', 'send-decode', 'await-prefill'],
      'read',
    ],
    [
      'both-at-once',
      ['start', 'decode-began', 'prefill-failed', 'decode-completed'],
      'completed',
      ['send-prefill', 'send-decode'],
      'read',
    ],
    ['both-at-once', ['start', 'prefill-failed'], 'prefill-failed', ['send-prefill', 'send-decode', 'abort-decode'], 'none'],
    ['both-at-once', ['start', 'decode-failed'], 'decode-failed', ['send-prefill', 'send-decode', 'abort-prefill'], 'none'],
    [
      'both-at-once',
      ['start', 'decode-began', 'decode-failed'],
      'decode-failed',
      ['send-prefill', 'send-decode', 'abort-prefill'],
      'read',
    ],
    ['both-at-once', ['start', 'cancel'], 'cancelled', ['send-prefill', 'send-decode', 'abort-decode', 'abort-prefill'], 'none'],
    ['both-at-once', ['start', 'prefilled', 'cancel'], 'cancelled', ['send-prefill', 'send-decode', 'abort-decode'], 'read'],
  ])('%s: %j ends %s', (order, events, end, commands, kv) => {
    const { states, commands: made } = walk(order, events);
    expect(states.at(-1)).toMatchObject({ stage: 'done', end, kv });
    expect(made).toEqual(commands);
  });

  it('goes through its stages in order', () => {
    const stages = (order: HandOffOrder, events: readonly HandOffEvent[]): readonly string[] =>
      walk(order, events).states.map(({ stage }) => stage);
    const all: readonly HandOffEvent[] = ['start', 'prefilled', 'decode-began', 'decode-completed'];
    for (const order of ORDERS) expect(stages(order, all)).toEqual(['idle', 'prefilling', 'handed', 'decoding', 'done']);
  });

  it('ends from every state by cancel and by the failure of a leg that runs, with nothing left running', () => {
    for (const order of ORDERS) {
      const seen = new Map<string, HandOffState>([[JSON.stringify(IDLE), IDLE]]);
      for (const state of seen.values()) {
        for (const event of EVENTS) {
          const { state: next } = handOffStep(state, event, order);
          seen.set(JSON.stringify(next), next);
        }
        const ends: HandOffEvent[] = ['cancel'];
        if (state.decode === 'underway') ends.push('decode-failed', 'decode-completed');
        if (state.prefill === 'underway' && state.stage !== 'decoding') ends.push('prefill-failed');
        for (const event of ends) {
          const { state: end } = handOffStep(state, event, order);
          expect([end.stage, end.prefill === 'underway', end.decode === 'underway']).toEqual(['done', false, false]);
        }
      }
      expect(seen.size).toBeGreaterThan(8);
    }
  });

  it('sends each leg once at most, ends only what runs, keeps no KV in the end, and stays done, whatever comes in whatever order', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ORDERS), fc.array(fc.constantFrom(...EVENTS), { maxLength: 12 }), (order, events) => {
        const { states, commands } = walk(order, [...events, 'cancel']);
        const running = new Set<string>();
        const sent: string[] = [];
        let at = 0;
        states.forEach((state, i) => {
          if (i === 0) return;
          const { commands: made } = handOffStep(states[i - 1]!, [...events, 'cancel' as const][i - 1]!, order);
          for (const command of made) {
            const [verb, leg] = command.split('-') as [string, string];
            if (verb === 'send') {
              sent.push(leg);
              running.add(leg);
            } else expect(running.has(leg)).toBe(true);
            at += 1;
          }
          for (const leg of ['prefill', 'decode'] as const) if (state[leg] === 'over') running.delete(leg);
          if (states[i - 1]!.stage === 'done') expect(state).toBe(states[i - 1]);
          if (state.decode === 'unsent') expect(['none', 'kept']).toContain(state.kv);
        });
        expect(at).toBe(commands.length);
        expect(new Set(sent).size).toBe(sent.length);
        expect(running.size).toBe(0);
        expect(states.at(-1)).toMatchObject({ stage: 'done' });
        expect(states.at(-1)!.kv).not.toBe('kept');
      }),
    );
  });
});
