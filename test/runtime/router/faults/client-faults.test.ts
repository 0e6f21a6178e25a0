import { connect, type Socket } from 'node:net';
import { FaultRig, wholeShare } from '../../../helpers/fault-rig';
import { seatedPod } from '../../../helpers/queue-harness';
import { chatBody, until } from '../../../helpers/router-harness';

const LEAVERS = 20;
const body = chatBody({ stream: true, messages: [{ role: 'user', content: 'request 1000000 ' }] });
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;

const onceData = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('data', resolve));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a client did when it left. */
const stages: readonly (readonly [string, (socket: Socket) => Promise<unknown>])[] = [
  ['before it said anything', async () => undefined],
  ['inside the head of its request', async (socket) => socket.write(head.slice(0, 40))],
  ['inside the body of its request', async (socket) => socket.write(head + body.slice(0, 10))],
  ['in the moment its request was sent', async (socket) => socket.write(head + body)],
  [
    'before the first byte of its answer',
    async (socket) => {
      socket.write(head + body);
      await pause(2);
    },
  ],
  [
    'in the middle of its answer',
    async (socket) => {
      socket.write(head + body);
      await onceData(socket);
    },
  ],
  [
    'after it stopped reading its answer',
    async (socket) => {
      socket.write(head + body);
      await onceData(socket);
      socket.pause();
    },
  ],
];

describe('under load, a client that leaves', () => {
  let rig: FaultRig;
  afterEach(() => rig.abandon());

  it.each(stages)('%s leaves nothing behind, and no other client notices', async (_stage, goOnUntil) => {
    rig = await FaultRig.start();
    await rig.served(40);
    await Promise.all(
      Array.from({ length: LEAVERS }, async (_, index) => {
        const socket = connect(rig.at.router.address.port, '127.0.0.1');
        socket.on('error', () => undefined);
        await new Promise((resolve) => socket.once('connect', resolve));
        await goOnUntil(socket);
        if (index % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      }),
    );
    await rig.served(100);
    expect(wholeShare(await rig.finish())).toBe(1);
  });

  it('while it waits for room leaves its place', async () => {
    rig = await FaultRig.start({ engines: 1, clients: 2 });
    const [engine] = rig.engines;
    engine!.slowness = 10;
    rig.at.cluster.put(seatedPod('pod-0', 'server', engine!.port));
    await rig.served(2);
    const sockets = Array.from({ length: LEAVERS }, () => connect(rig.at.router.address.port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(head + body);
    }
    await until(() => rig.at.router.waiting() >= LEAVERS - 1, 'they wait');
    for (const socket of sockets) socket.destroy();
    await until(() => rig.at.router.waiting() <= 2, 'their places are free');
    await rig.served(2);
    expect(wholeShare(await rig.finish())).toBe(1);
  });
});
