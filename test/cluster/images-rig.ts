import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { parse } from 'yaml';
import { Cluster, GitOpsApp, InferencePlatform, type RouterProps } from '../../constructs';
import type { KubeObject } from '../../src/api/meta';
import type { AppsWorkload } from '../../src/expand/workload-plan';
import { type Answer, send } from '../helpers/router-harness';
import { deploymentOf, policyFor } from '../helpers/workload-objects';
import { ControlPlane } from './control-plane';
import { allDefinitions } from './definitions';
import { FaultProxy } from './fault-proxy';
import { KubeAdmin } from './kube-admin';
import { podEngineCommand } from './pod-engine-command';
import { SupervisedImage } from './supervised-image';

/** Where the platform is. */
export const NAMESPACE = 'kvasir-system';

/** Kinds by which the constructs grant access. */
const ACCESS: ReadonlySet<string> = new Set(['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']);

/**
 * Rounds, windows and leases that tests can wait for. Two rounds are longer than the time between two signs of life of an API server that
 * has nothing to tell: where they are shorter, the autoscaler takes its view for stale and scales nothing down.
 */
const QUICK = {
  syncPeriodMs: 3000,
  metricWindowMs: 5000,
  leaseDurationMs: 4000,
  leaseRenewDeadlineMs: 3000,
  leaseRetryPeriodMs: 500,
};

export interface ImagesRigOptions {
  /** @default the router as it is by default, the autoscaler with quick rounds */
  readonly router?: RouterProps;
  /** Adds constructs in namespace `default`, whose access is granted too. @default none */
  readonly stack?: (scope: Construct) => void;
}

export interface Deployed extends AppsWorkload {
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number };
}

/**
 * Router and autoscaler as the programs that they are, with the rights that the constructs grant and no others, on a control plane whose
 * pods are simulated engines. They reach the API by way of `proxy`.
 */
export class ImagesRig {
  private readonly opened: (() => Promise<void> | void)[] = [];
  plane!: ControlPlane;
  admin!: KubeAdmin;
  proxy!: FaultProxy;
  router!: SupervisedImage;
  autoscaler!: SupervisedImage;

  /** @param objects that are there before the images start. */
  static async start(objects: readonly KubeObject[], options: ImagesRigOptions = {}): Promise<ImagesRig> {
    const rig = new ImagesRig();
    try {
      await rig.open(objects, options);
    } catch (error) {
      await rig.close();
      throw error;
    }
    return rig;
  }

  private async open(objects: readonly KubeObject[], options: ImagesRigOptions): Promise<void> {
    const engine = podEngineCommand();
    this.opened.push(() => engine.remove());
    const plane = await ControlPlane.start({ podExec: engine.command });
    this.opened.push(() => plane.close());
    const admin = new KubeAdmin(plane.credentials);
    this.opened.push(() => admin.close());
    await admin.apply(...allDefinitions());
    const { access, configOf } = platformOf(options);
    await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...access, ...objects);
    const proxy = await FaultProxy.start(plane.credentials);
    this.opened.push(() => proxy.close());
    const start = async (part: 'router' | 'autoscaler'): Promise<SupervisedImage> => {
      const account = await admin.serviceAccount(NAMESPACE, `kvasir-${part}`);
      const image = await SupervisedImage.start(part, proxy.credentials(account), configOf(part));
      this.opened.push(() => image.close());
      return image;
    };
    this.plane = plane;
    this.admin = admin;
    this.proxy = proxy;
    [this.router, this.autoscaler] = await Promise.all([start('router'), start('autoscaler')]);
  }

  /** Sends a request to the router. */
  chat(model = 'chat', headers: Record<string, string> = {}): Promise<Answer> {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 });
    return send(`http://${this.router.address('listen')}`, '/v1/chat/completions', body, headers);
  }

  /** Waits until requests for `model` end with `status`. */
  async answers(status: number, model = 'chat', headers: Record<string, string> = {}): Promise<void> {
    let last: Answer | undefined;
    await this.admin
      .until(
        `requests for ${model} get ${status}`,
        async () => {
          last = await this.chat(model, headers);
          return last.status === status;
        },
        60_000,
      )
      .catch((error: unknown) => {
        throw new Error(`${error}; the last one got ${last?.status} ${last?.body}`);
      });
  }

  /** Waits until a Deployment has `replicas` pods, all ready. */
  async hasReady(deployment: KubeObject, replicas: number): Promise<void> {
    let last: Deployed | undefined;
    await this.admin
      .until(
        `${deployment.metadata.name} has ${replicas} ready pods`,
        async () => {
          last = await this.deployed(deployment);
          return last?.spec.replicas === replicas && (last.status?.readyReplicas ?? 0) === replicas;
        },
        60_000,
      )
      .catch(async (error: unknown) => {
        const policy = await this.admin.get(policyFor(deployment.metadata.name));
        throw new Error(`${error}; it is ${JSON.stringify(last)}, and its policy ${JSON.stringify(policy)}`);
      });
  }

  deployed(deployment: KubeObject): Promise<Deployed | undefined> {
    return this.admin.get(deployment as Deployed);
  }

  async close(): Promise<void> {
    for (const close of this.opened.splice(0).reverse()) await close();
  }
}

/** A Deployment of simulated engines with label `app`. @param stepMs time of an engine step. */
export function enginesOf(app: string, replicas: number, { model = app, stepMs = 1 } = {}): KubeObject {
  const container = {
    name: 'engine',
    image: 'vllm/vllm-openai:v0.32.0',
    args: ['--model', 'Qwen/Qwen3-0.6B', '--served-model-name', model, '--port', '8000'],
    env: [{ name: 'STEP_MS', value: String(stepMs) }],
    readinessProbe: { httpGet: { path: '/health', port: 8000 } },
  };
  return deploymentOf(app, {
    replicas,
    template: { metadata: { labels: { app } }, spec: { containers: [container], terminationGracePeriodSeconds: 5 } },
  });
}

/** What the constructs write for the images. */
export function platformOf({ router, stack }: ImagesRigOptions) {
  const app = new GitOpsApp({
    cluster: Cluster.of({ kubernetes: '1.35', leaderWorkerSet: true }),
    images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
  });
  const system = new Chart(app, 'kvasir-system', { namespace: NAMESPACE });
  new InferencePlatform(system, 'platform', { ...(router && { router }), autoscaler: { config: QUICK } });
  const models = new Chart(app, 'models', { namespace: 'default' });
  stack?.(models);
  const objects = [system, models].flatMap((chart) => chart.toJson() as readonly KubeObject[]);
  return {
    access: objects.filter(({ kind }) => ACCESS.has(kind)),
    /** The document that a pod of the image would mount. */
    configOf: (part: 'router' | 'autoscaler'): object => {
      const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === `kvasir-${part}`);
      const { data } = map as KubeObject & { readonly data: Readonly<Record<string, string>> };
      return (parse(data[`${part}Configuration.yaml`]!) as object | null) ?? {};
    },
  };
}
