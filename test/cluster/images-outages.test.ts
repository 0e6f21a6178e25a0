import { setTimeout as pause } from 'node:timers/promises';
import type { KubeObject } from '../../src/api/meta';
import { modelRouteOf } from '../helpers/router-cluster';
import { send } from '../helpers/router-harness';
import { policyFor, serverFor } from '../helpers/workload-objects';
import { hasGo } from './control-plane';
import { enginesOf, ImagesRig } from './images-rig';
import { RouterLoad } from './router-load';

const OUTAGE_MS = 30_000;
/** Fifty tokens at 20 ms a step; longer than this is waiting. */
const STEP_MS = 20;
const MAX_TOKENS = 50;
const PROMPT_MS = 6_000;
/** So many that run at once that two replicas are wanted, whatever the bounds are. */
const CLIENTS = 4;
const PER_REPLICA = 2;
const engines = enginesOf('chat', 2, { stepMs: STEP_MS });

const describeHere = hasGo() ? describe : describe.skip;

describeHere('router and autoscaler while the Kubernetes API is in trouble', () => {
  let rig: ImagesRig;
  let load: RouterLoad;
  let count = 0;

  beforeAll(async () => {
    const route = modelRouteOf('chat', { modelName: 'chat', to: 'chat' });
    rig = await ImagesRig.start([engines, serverFor('chat', { model: 'chat' }), route, policyAt(2)]);
    await rig.hasReady(engines, 2);
    await rig.answers(200);
    load = new RouterLoad({ router: rig.router.address('listen'), model: 'chat', clients: CLIENTS, maxTokens: MAX_TOKENS });
  }, 600_000);

  afterEach(async () => {
    await rig.proxy.heal();
    const { failures, longestMs } = load;
    expect({ failures, isPrompt: longestMs < PROMPT_MS }).toEqual({ failures: [], isPrompt: true });
  });

  afterAll(async () => {
    await load?.stop();
    await rig?.close();
  }, 60_000);

  function policyAt(minReplicas: number): KubeObject {
    const policy = policyFor('chat');
    const target = {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' },
      metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: 8000 } } },
    };
    const spec = {
      metrics: [{ name: 'running', targetValue: String(PER_REPLICA) }],
      behavior: { scaleDown: { stabilizationWindow: '2s', period: '1s', instances: 4 } },
      homogeneousTarget: { target, minReplicas, maxReplicas: 4 },
    };
    return { ...policy, spec } as KubeObject;
  }

  /** Changes that somebody makes now are seen by both: a new route is served, and a policy with other bounds is acted on. */
  async function bothSeeChanges(minReplicas: number, replicas: number): Promise<void> {
    count += 1;
    const model = `chat-${count}`;
    await rig.admin.apply(modelRouteOf(model, { modelName: model, to: 'chat' }), policyAt(minReplicas));
    // Pods come later: controllers wait longer than the images before they ask an API again that was away.
    const isScaled = async () => (await rig.deployed(engines))!.spec.replicas === replicas;
    await Promise.all([rig.answers(200, model), rig.admin.until(`${replicas} replicas are asked for`, isScaled, 120_000)]);
  }

  /** Rounds of the autoscaler that began after `sinceMs` and saw the load. */
  async function roundsSince(sinceMs: number): Promise<number> {
    // Between two of its lives nobody answers.
    const answer = await send(`http://${rig.autoscaler.address('debug')}`, '/debug/explain?policy=default/chat').catch(
      () => undefined,
    );
    const { rounds = [] } = JSON.parse(answer?.body ?? '{}') as { readonly rounds?: readonly Round[] };
    return rounds.filter(({ at, units }) => Date.parse(at) > sinceMs && units?.[0]?.recommended === 2).length;
  }

  it('go on after their watches were told that their versions are gone', async () => {
    const lists = () => rig.proxy.seen.filter(({ isWatch, path }) => !isWatch && path === '/api/v1/pods').length;
    const before = lists();
    rig.proxy.expireWatches();
    await bothSeeChanges(3, 3);
    await rig.admin.until('both have listed anew', () => lists() >= before + 2);
  }, 150_000);

  it('go on after a time in which every request was throttled', async () => {
    rig.proxy.cutWatches();
    rig.proxy.answer(() => true, { status: 429, message: 'too many requests', retryAfterSeconds: 1 });
    const seen = rig.proxy.seen.length;
    await pause(6_000);
    // Each of some thirty watches waits as long as it is told to, and longer each time.
    expect(rig.proxy.seen.length - seen).toBeLessThan(200);
    await rig.proxy.heal();
    await bothSeeChanges(1, 2);
  }, 150_000);

  it('asked for nothing that they may not', () => {
    expect([...rig.proxy.forbidden]).toEqual([]);
  });

  it('go on after a restart of the API server', async () => {
    await rig.plane.stopApi();
    await rig.plane.startApi();
    await bothSeeChanges(3, 3);
    await bothSeeChanges(1, 2);
  }, 280_000);

  it('outlive 30 s without any API: all requests are answered, nothing is scaled, and what changed comes after', async () => {
    const generation = async () => (await rig.admin.get(engines))!.metadata.generation;
    const before = await generation();
    const { answered } = load;
    const { restarts } = rig.autoscaler;
    await rig.plane.stopApi('SIGKILL');
    await pause(OUTAGE_MS);
    expect(load.failures).toEqual([]);
    // Each client gets one answer in a good second.
    expect(load.answered - answered).toBeGreaterThan((CLIENTS * OUTAGE_MS) / 1000 / 2);
    await rig.plane.startApi();
    const backMs = Date.now();
    await rig.admin.until('the autoscaler has decided again', async () => (await roundsSince(backMs)) >= 3, 60_000);
    // Each write of replicas would be a generation.
    expect(await generation()).toBe(before);
    await bothSeeChanges(3, 3);
    expect(await generation()).toBe(before! + 1);
    // Without its Lease it ended, and was started while there was no API.
    expect(rig.autoscaler.restarts).toBeGreaterThan(restarts);
    expect(rig.router.restarts).toBe(0);
  }, 280_000);

  it('asked for nothing that they may not, once the API server knew its roles again', async () => {
    // One that has just started forbids everything for a moment.
    rig.proxy.forbidden.clear();
    await bothSeeChanges(1, 2);
    expect([...rig.proxy.forbidden]).toEqual([]);
  }, 150_000);
});

interface Round {
  readonly at: string;
  readonly units?: readonly { readonly recommended: number }[];
}
