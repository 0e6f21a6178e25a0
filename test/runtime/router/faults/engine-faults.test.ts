import type { Socket } from 'node:net';
import { answersErrorEvent, become, DEADLY, diesOfBody, refuses, sizedWrong } from '../../../helpers/engine-faults';
import { verdictOf } from '../../../helpers/fault-invariants';
import { askNumbered } from '../../../helpers/fault-load';
import { FaultRig, type FaultRigOptions, wholeShare } from '../../../helpers/fault-rig';
import { pod, until } from '../../../helpers/router-harness';

const rigs: FaultRig[] = [];

async function start(options?: FaultRigOptions): Promise<FaultRig> {
  const rig = await FaultRig.start(options);
  rigs.push(rig);
  return rig;
}

afterEach(() => Promise.all(rigs.splice(0).map((rig) => rig.abandon())));

describe('under load, an engine', () => {
  it('that is killed costs its streams an error event, and nobody else anything', async () => {
    const rig = await start();
    await rig.served(60);
    await rig.engines[0]!.kill();
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it('that hangs before the head of its answer is left after the deadline, and then left out', async () => {
    const rig = await start({ server: { trafficPolicy: { timeout: '300ms' } } });
    await rig.served(60);
    become(rig.engines[0]!, () => undefined);
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it('that stalls after SIGTERM without ending a connection gets nothing new, and its streams end with an error event', async () => {
    const rig = await start({ config: { deadlines: { idleMs: 500, firstByteMs: 500 } } });
    await rig.served(60);
    const [engine] = rig.engines;
    engine!.stall();
    const dying = pod('pod-0', 'server', engine!.port);
    rig.at.cluster.put({
      ...dying,
      metadata: { ...dying.metadata, deletionTimestamp: new Date().toISOString() },
    } as typeof dying);
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    rig.at.cluster.remove('Pod', 'default', 'pod-0');
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it('that accepts connections and resets them is tried, left, and left out', async () => {
    const rig = await start();
    await rig.served(60);
    await rig.engines[0]!.acceptAndReset();
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it('whose machine vanished, so that connections hear nothing and new ones are not refused, is left by the deadlines', async () => {
    const rig = await start({ config: { deadlines: { connectMs: 200, firstByteMs: 300, idleMs: 500 } } });
    await rig.served(60);
    await rig.engines[0]!.vanish();
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it('that is slow by 20 times gets less work than the others, and loses none', async () => {
    const rig = await start();
    await rig.served(60);
    const [slow] = rig.engines;
    slow!.slowness = 20;
    await rig.served(40);
    const before = rig.engines.map(({ received }) => received.length);
    await rig.served(500);
    const served = rig.engines.map(({ received }, index) => received.length - before[index]!);
    expect(wholeShare(await rig.finish())).toBe(1);
    process.stdout.write(`an engine slow by 20 times got ${served[0]} of ${served.reduce((a, b) => a + b)} requests\n`);
    expect(served[0]).toBeLessThan(0.5 * Math.max(...served));
  });

  it.each([429, 500, 503])('that answers %i is left for another, and few clients hear of it', async (status) => {
    const rig = await start();
    await rig.served(60);
    become(rig.engines[0]!, refuses(status));
    await rig.outlastGrace();
    const verdicts = await rig.finish();
    expect(wholeShare(verdicts)).toBeGreaterThan(0.95);
  });

  it('that answers 200 and then an error event is left for another', async () => {
    const rig = await start();
    await rig.served(60);
    become(rig.engines[0]!, answersErrorEvent);
    await rig.untilKnownDead(0);
    await rig.outlastGrace();
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
  });

  it.each([
    ['more', -50],
    ['less', 20],
  ])(
    'that announces %s bytes than it sends never makes a whole answer of a part, nor one client’s bytes another’s',
    async (_what, surplus) => {
      const rig = await start();
      await rig.served(60);
      become(rig.engines[0]!, sizedWrong(surplus));
      await rig.untilKnownDead(0);
      await rig.outlastGrace();
      expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
    },
  );

  it('that was replaced on the same address gets new connections only, and the old one’s streams end with an error event', async () => {
    const rig = await start();
    const [engine] = rig.engines;
    const old = new Set<Socket>();
    let replacedMs = Number.POSITIVE_INFINITY;
    let onOld = 0;
    engine!.answer = (request, response, { socket }) => {
      if (Date.now() < replacedMs) old.add(socket);
      // What was sent in the moment of the change may still arrive.
      else if (old.has(socket) && Date.now() > replacedMs + 100) onOld += 1;
      engine!.serve(request, response);
    };
    await rig.served(60);
    rig.at.cluster.put(pod('pod-0', 'server', engine!.port, 'uid-of-another'));
    await until(
      () => rig.at.router.endpoints.all().some(({ endpoint }) => endpoint.id === 'default/pod-0#uid-of-another'),
      'the new pod is known',
    );
    replacedMs = Date.now();
    const before = engine!.received.length;
    await rig.outlastGrace();
    expect(engine!.received.length).toBeGreaterThan(before);
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.95);
    expect(onOld).toBe(0);
  });

  it('that dies of a body takes one more with it at most, however often the body comes', async () => {
    const rig = await start();
    let deaths = 0;
    for (const engine of rig.engines) {
      become(
        engine,
        diesOfBody(() => {
          deaths += 1;
        }),
      );
    }
    await rig.served(60);
    const told = [];
    for (let count = 0; count < 10; count++) told.push(await askNumbered({ port: rig.at.router.address.port }, DEADLY));
    await rig.served(60);
    expect(wholeShare(await rig.finish())).toBeGreaterThan(0.8);
    expect(deaths).toBe(2);
    expect(told.map(verdictOf).map(({ kind }) => kind)).toEqual(Array(10).fill('told'));
    expect(told.map((end) => (end.kind === 'answered' ? end.status : 0))).toEqual([502, ...Array(9).fill(503)]);
  });
});

it('under load, a pool whose engines all fail loses half of itself at most, and every client is told', async () => {
  const rig = await start();
  await rig.served(60);
  for (const engine of rig.engines) become(engine, refuses(500));
  await until(() => rig.at.router.endpoints.all().filter(({ isEjected }) => isEjected).length >= 2, 'half is ejected');
  const before = rig.engines.map(({ received }) => received.length);
  await rig.served(100);
  expect(rig.engines.filter(({ received }, index) => received.length > before[index]!).length).toBeGreaterThanOrEqual(2);
  for (const engine of rig.engines) engine.answer = (request, response) => engine.serve(request, response);
  const recovered = rig.ends.length + 50;
  await until(() => rig.ends.length > recovered, 'the engines are back');
  const verdicts = await rig.finish();
  expect(verdicts.slice(-20).map(({ kind }) => kind)).toEqual(Array(20).fill('whole'));
});
