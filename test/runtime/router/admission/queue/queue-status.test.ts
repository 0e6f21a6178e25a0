import type { QueueStatus } from '../../../../../runtime/router/admission/queue/queue-status';
import { type QueueRouter, queueConfig, startQueueRouter } from '../../../../helpers/queue-harness';
import { send } from '../../../../helpers/router-harness';

let held: QueueRouter;
afterEach(async () => {
  await held.router.close();
  await held.engine.kill();
});

const status = async (): Promise<QueueStatus> => {
  const { host, port } = held.router.debugAddress;
  return JSON.parse((await send(`http://${host}:${port}`, '/debug/queue')).body) as QueueStatus;
};

describe('/debug/queue', () => {
  it('lists the hundred that wait longest, oldest first, and counts the others', async () => {
    held = await startQueueRouter();
    const answers = [held.ask('running')];
    await held.untilServed('running');
    for (let index = 0; index < 120; index++) {
      answers.push(held.ask(`waits ${index}`));
      await held.untilQueued(index + 1);
    }
    const { requests, bytes, lanes, waiting, leftOff } = await status();
    expect([requests, waiting.length, leftOff]).toEqual([120, 100, { requests: 20, lanes: 0 }]);
    expect(bytes).toBeGreaterThan(120 * 40);
    expect(lanes).toEqual([
      {
        model: 'm',
        servers: ['default/server'],
        reason: 'full',
        requests: 120,
        tokens: expect.any(Number),
        longestMs: waiting[0]!.waitedMs,
        expectedMs: expect.any(Number),
      },
    ]);
    expect(waiting.map(({ waitedMs }) => waitedMs)).toEqual(waiting.map(({ waitedMs }) => waitedMs).toSorted((a, b) => b - a));
    await held.router.close();
    expect(new Set((await Promise.all(answers)).map((answer) => answer.status))).toContain(503);
  });

  it('tells the class of those that wait, and that a model has as many at its pods as it may', async () => {
    const classes = [
      { name: 'interactive', queueShare: 1 },
      { name: 'batch', queueShare: 1 },
    ];
    held = await startQueueRouter({ maxNumSeqs: 8, config: queueConfig({ classes, fairness: { maxConcurrent: 1 } }) });
    const answers = [held.ask('one')];
    await held.untilServed('one');
    answers.push(held.ask('two'));
    await held.untilQueued(1);
    expect(await status()).toMatchObject({ lanes: [{ reason: 'max-concurrent' }], waiting: [{ priorityClass: 'batch' }] });
    held.engine.release('one');
    await held.untilServed('two');
    held.engine.release('two');
    await Promise.all(answers);
    expect(await status()).toEqual({ requests: 0, bytes: 0, lanes: [], waiting: [], leftOff: { requests: 0, lanes: 0 } });
  });
});
