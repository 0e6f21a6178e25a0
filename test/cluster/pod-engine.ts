/**
 * One container of a test cluster: a simulated engine at the pod's own address, by the container's image and arguments. A container that
 * is no engine does nothing. Bundled by `podEngineCommand`.
 */
import { seededRandom } from '../../runtime/lib/random';
import { startEngine } from '../../runtime/simulator/start-engine';
import type { Container, Pod } from '../../src/api/pod';
import { planEngine } from '../../src/expand/plan-engine';

/** What the hollow kubelet gives each container, and the time of a step where the container's own environment says one. */
const { CONTAINER_JSON = '{}', POD_NAME = '', POD_NAMESPACE = '', POD_IP = '', STEP_MS = '1' } = process.env;

/** By default fast enough that tests wait for routers and controllers only. */
const STEP_TIME = { baseMs: Number(STEP_MS), perPrefillTokenMs: 0.001, perSequenceMs: 0.01, perKvTokenMs: 0 };
const NUM_BLOCKS = 1024;
const KILL_GRACE_MS = 30_000;

async function main(): Promise<void> {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD_NAME, namespace: POD_NAMESPACE },
    spec: { containers: [JSON.parse(CONTAINER_JSON) as Container] },
  };
  const plan = planEngine(pod, { modelServers: [], modelRoutes: [] });
  const idle = setInterval(() => undefined, 60_000);
  const engine =
    plan === undefined
      ? undefined
      : await startEngine({
          plan,
          host: POD_IP,
          port: plan.port,
          random: seededRandom(1),
          stepTime: STEP_TIME,
          numBlocks: NUM_BLOCKS,
        });
  process.once('SIGTERM', () => {
    clearInterval(idle);
    void Promise.resolve(engine?.stop(KILL_GRACE_MS)).then(() => process.exit(0));
  });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
