import { type KubernetesCluster, openKubernetesCluster } from '../../runtime/cluster/kubernetes';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { resourcePath, watchedResource } from '../../runtime/cluster/kubernetes/watched-resources';
import { workloadStatus } from '../../runtime/cluster/manifests/workload-status';
import { silentLogger } from '../../runtime/lib/logger';
import { wallClock } from '../../runtime/lib/wall-clock';
import type { KubeObject } from '../../src/api/meta';
import type { ModelServing } from '../../src/api/model-serving';
import type { Pod } from '../../src/api/pod';
import { podChanges } from '../../src/expand/pod-changes';

/**
 * Stands for Kthena's controller of ModelServings, which a control plane for tests does not have: makes and removes pods and writes
 * statuses by the same pure rules as a folder of manifests, which are compared with goldens of the real controller.
 */
export class GroupControllers {
  private readonly cluster: KubernetesCluster;
  private running: Promise<void> | undefined;
  private mustRunAgain = false;
  private isClosed = false;

  constructor(credentials: Credentials) {
    this.cluster = openKubernetesCluster({
      credentials,
      component: 'group-controllers',
      watch: {
        kinds: ['ModelServing', 'Pod'],
        workloads: false,
        wakeRequests: false,
        secrets: { names: [], labels: [], ofProviders: false },
      },
      clock: wallClock(),
      log: silentLogger(),
    });
    for (const kind of ['ModelServing', 'Pod'] as const) this.cluster.objects.changed(kind, () => this.look());
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.running;
    await this.cluster.close();
  }

  private look(): void {
    this.mustRunAgain = true;
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    await this.cluster.synced(30_000);
    while (this.mustRunAgain && !this.isClosed) {
      this.mustRunAgain = false;
      const servings = this.cluster.objects.list('ModelServing');
      for (const serving of servings) await this.reconcile(serving);
      await this.collectOrphans(new Set(servings.map(({ metadata }) => metadata.uid!)));
    }
  }

  /** Sooner than the garbage collector, which looks for kinds with a new definition twice a minute only. */
  private async collectOrphans(servings: ReadonlySet<string>): Promise<void> {
    for (const { metadata } of this.cluster.objects.list('Pod')) {
      const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'ModelServing');
      if (owner === undefined || servings.has(owner.uid) || metadata.deletionTimestamp !== undefined) continue;
      await this.deletePod(metadata.namespace ?? 'default', metadata.name);
    }
  }

  private async deletePod(namespace: string, name: string): Promise<void> {
    await this.cluster.client.request({ method: 'DELETE', path: resourcePath(watchedResource('Pod'), namespace, name) });
  }

  /** Names of pods are fixed, so that a step over an old view does no harm: what is there is there, what is gone is gone. */
  private async reconcile(serving: ModelServing): Promise<void> {
    const { client, objects } = this.cluster;
    const { namespace = 'default', name, uid } = serving.metadata;
    if (serving.metadata.deletionTimestamp !== undefined) return;
    const pods = objects
      .list('Pod', { namespace })
      .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
    const { create, remove } = podChanges(serving, pods);
    for (const pod of create) {
      await client.request({ method: 'POST', path: resourcePath(watchedResource('Pod'), namespace), body: placed(pod, serving) });
    }
    for (const pod of remove) await this.deletePod(namespace, pod.metadata.name);
    await client.request({
      method: 'PATCH',
      path: resourcePath(watchedResource('ModelServing'), namespace, name, 'status'),
      contentType: 'application/merge-patch+json',
      body: { status: workloadStatus(serving, pods, Date.now()) },
    });
  }
}

function placed(pod: Pod, { apiVersion, kind, metadata }: KubeObject): Pod {
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid!, controller: true, blockOwnerDeletion: true };
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
}
