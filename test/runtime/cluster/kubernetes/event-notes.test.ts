import { EventNotes } from '../../../../runtime/cluster/kubernetes/event-notes';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { policyFor } from '../../../helpers/workload-objects';

describe('Events at the end of a program', () => {
  it('are written when the API answers', async () => {
    const written: string[] = [];
    const request = async ({ body }: { readonly body?: unknown }) => {
      written.push((body as { readonly reason: string }).reason);
      return { kind: 'answered', status: 201, body: {} } as const;
    };
    const events = new EventNotes({ request }, new VirtualClock(), 'test');
    for (const reason of ['One', 'Two']) events.note(policyFor('chat'), 'Normal', reason, '');
    await events.close();
    expect(written).toEqual(['One', 'Two']);
  });

  it('hold nobody up when it does not', async () => {
    let asked = 0;
    const request = () => {
      asked += 1;
      return new Promise<never>(() => {});
    };
    const events = new EventNotes({ request }, new VirtualClock(), 'test');
    for (let i = 0; i < 10; i++) events.note(policyFor('chat'), 'Normal', `Reason${i}`, '');
    const startedMs = performance.now();
    await events.close();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(asked).toBe(1);
  });
});
