import { connect } from 'node:net';
import { FaultRig, wholeShare } from '../../../helpers/fault-rig';
import { LEAVING_STAGES, leaveAt, STREAM_REQUEST } from '../../../helpers/leaving-clients';
import { seatedPod } from '../../../helpers/queue-harness';
import { until } from '../../../helpers/router-harness';

const LEAVERS = 20;

describe('under load, a client that leaves', () => {
  let rig: FaultRig;
  afterEach(() => rig.abandon());

  it.each(LEAVING_STAGES)('%s leaves nothing behind, and no other client notices', async (_stage, goOnUntil) => {
    rig = await FaultRig.start();
    await rig.served(40);
    await leaveAt(rig.at.router.address.port, LEAVERS, goOnUntil);
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
      socket.write(STREAM_REQUEST);
    }
    await until(() => rig.at.router.waiting() >= LEAVERS - 1, 'they wait');
    for (const socket of sockets) socket.destroy();
    await until(() => rig.at.router.waiting() <= 2, 'their places are free');
    await rig.served(2);
    expect(wholeShare(await rig.finish())).toBe(1);
  });
});
