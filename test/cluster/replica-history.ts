import type { KubeObject } from '../../src/api/meta';
import type { AppsWorkload } from '../../src/expand/workload-plan';
import type { KubeAdmin } from './kube-admin';

/** One value of `spec.replicas` that the API server had. */
interface Wish {
  readonly replicas: number;
  /** Milliseconds since the epoch at which it was seen. */
  readonly seenMs: number;
}

/** Every value that `spec.replicas` of the Deployments of a namespace takes: a watch tells of each change, in order. */
export class ReplicaHistory {
  private readonly ending = new AbortController();
  private readonly byName = new Map<string, Wish[]>();
  private readonly running: Promise<unknown>;

  constructor(admin: KubeAdmin, namespace: string) {
    this.running = admin.client.stream(
      {
        method: 'GET',
        path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
        query: { watch: '1', timeoutSeconds: '600' },
        timeoutMs: 600_000,
      },
      { opened: () => undefined, line: (line) => this.take((line as { readonly object: KubeObject }).object as AppsWorkload) },
      this.ending.signal,
    );
  }

  /** All values so far. */
  of(name: string): readonly number[] {
    return this.wishes(name).map(({ replicas }) => replicas);
  }

  wishes(name: string): readonly Wish[] {
    return this.byName.get(name) ?? [];
  }

  latest(name: string): number | undefined {
    return this.wishes(name).at(-1)?.replicas;
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.running;
  }

  private take({ metadata, spec }: AppsWorkload): void {
    const wishes = this.byName.get(metadata.name) ?? [];
    this.byName.set(metadata.name, wishes);
    const replicas = spec.replicas ?? 1;
    if (wishes.at(-1)?.replicas !== replicas) wishes.push({ replicas, seenMs: Date.now() });
  }
}
