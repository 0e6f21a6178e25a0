import fc from 'fast-check';
import { LegBodies } from '../../../../runtime/router/disaggregation/leg-bodies';

const bodies = (value: object): LegBodies => new LegBodies(Buffer.from(JSON.stringify(value)));
const parsed = (body: Buffer): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;

describe('the bodies of two legs', () => {
  it.each<[object, number]>([
    [{ messages: [] }, 1],
    [{ messages: [], n: 3 }, 3],
    [{ prompt: 'x', n: 2, best_of: 4 }, 4],
    [{ prompt: ['x', 'y'] }, 2],
    [{ prompt: ['x', 'y'], n: 2 }, 4],
    [{ prompt: [[1, 2], [3]] }, 2],
    [{ prompt: [1, 2, 3] }, 1],
    [{ prompt: [] }, 1],
    [{ prompt: 'x', n: null }, 1],
    [{ prompt: 'x', n: -1 }, 1],
    [{ prompt: 'x', n: 'two' }, 1],
  ])('%j is so many generations: %d', (body, generations) => {
    expect(bodies(body).generations).toBe(generations);
  });

  it('counts a list that is no JSON as one, for the engine to refuse', () => {
    expect(new LegBodies(Buffer.from('{"prompt":["\\x"]}')).generations).toBe(1);
  });

  it('change nothing that a leg may have: decode gets every byte and the hand-off, prefill all but its limits', () => {
    const member = fc.constantFrom('temperature', 'stop', 'messages', 'x', 'logit_bias');
    const limit = fc.constantFrom('max_tokens', 'max_completion_tokens', 'min_tokens', 'stream', 'stream_options', 'n');
    const object = fc
      .tuple(fc.dictionary(member, fc.jsonValue()), fc.dictionary(limit, fc.oneof(fc.nat(), fc.constant(null), fc.boolean())))
      .map(([a, b]) => ({ model: 'm', ...a, ...b }));
    fc.assert(
      fc.property(object, fc.constantFrom('', '"kv_transfer_params":{"a":1}'), fc.boolean(), (body, members, keepsChoices) => {
        const legs = bodies(body);
        const added = members === '' ? {} : { kv_transfer_params: { a: 1 } };
        expect(parsed(legs.decode(members))).toEqual(parsed(Buffer.from(JSON.stringify({ ...body, ...added }))));
        const rest = 'messages' in body ? { max_completion_tokens: 1 } : {};
        const limits = {
          ...('max_completion_tokens' in body ? { max_completion_tokens: 1 } : rest),
          ...('min_tokens' in body ? { min_tokens: 0 } : {}),
          ...('stream_options' in body ? { stream_options: null } : {}),
          ...('n' in body && !keepsChoices ? { n: 1 } : {}),
        };
        expect(parsed(legs.prefill(members, keepsChoices))).toEqual(
          parsed(Buffer.from(JSON.stringify({ ...body, ...added, max_tokens: 1, stream: false, ...limits }))),
        );
      }),
    );
  });
});
