import type { RouterCluster } from '../../runtime/cluster/cluster';
import type { Kind, KindMap, Objects } from '../../runtime/cluster/objects';
import { type KubeObject, keyOf } from '../../src/api/meta';
import type { ModelRoute, TargetModel } from '../../src/api/model-route';
import type { ModelServer } from '../../src/api/model-server';
import type { Pod } from '../../src/api/pod';
import { NETWORKING_API_VERSION } from '../../src/labels';

/** A cluster in memory, as a router sees it. Changes are told at once. */
export class FakeRouterCluster implements RouterCluster {
  isSynced = true;
  readonly secrets = { byLabel: () => new Map(), changed: () => () => undefined };
  private readonly byKind = new Map<string, Map<string, KubeObject>>();
  private readonly listeners = new Map<string, Set<(keys: ReadonlySet<string>) => void>>();

  readonly objects: Objects = {
    list: <K extends Kind>(kind: K) => [...(this.byKind.get(kind)?.values() ?? [])] as unknown as readonly KindMap[K][],
    get: <K extends Kind>(kind: K, namespace: string, name: string) =>
      this.byKind.get(kind)?.get(`${namespace}/${name}`) as unknown as KindMap[K] | undefined,
    changed: (kind, listener) => {
      const listeners = this.listeners.get(kind) ?? new Set();
      this.listeners.set(kind, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    freshness: () => ({ isSynced: this.isSynced, ageMs: 0 }),
  };

  /** Listeners that were not ended. */
  get listening(): number {
    return [...this.listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  put(...objects: readonly KubeObject[]): this {
    for (const object of objects) {
      const kind = this.byKind.get(object.kind) ?? new Map<string, KubeObject>();
      this.byKind.set(object.kind, kind.set(keyOf(object), object));
      this.tell(object);
    }
    return this;
  }

  remove(...objects: readonly KubeObject[]): void {
    for (const object of objects) {
      this.byKind.get(object.kind)?.delete(keyOf(object));
      this.tell(object);
    }
  }

  private tell(object: KubeObject): void {
    for (const listener of this.listeners.get(object.kind) ?? []) listener(new Set([keyOf(object)]));
  }
}

/** A ready pod of a ModelServer made by `modelServerOf` with the same `app`. */
export function podOf(
  app: string,
  index: number,
  changes: Partial<Pod['metadata']> & { readonly status?: Pod['status'] } = {},
): Pod {
  const { status, ...metadata } = changes;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${app}-${index}`, namespace: 'default', uid: `uid-${app}-${index}`, labels: { app }, ...metadata },
    spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2', args: ['--model', 'Qwen/Qwen3-8B'] }] },
    status: { phase: 'Running', podIP: `10.0.0.${index + 1}`, conditions: [{ type: 'Ready', status: 'True' }], ...status },
  };
}

export function modelServerOf(app: string, spec: Partial<ModelServer['spec']> = {}): ModelServer {
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelServer',
    metadata: { name: app, namespace: 'default' },
    spec: {
      inferenceEngine: 'vLLM',
      workloadSelector: { matchLabels: { app } },
      workloadPort: { port: 8000, protocol: 'http' },
      ...spec,
    },
  };
}

/** A route whose rules are given, or one rule to one ModelServer. */
export function modelRouteOf(
  name: string,
  spec: Omit<Partial<ModelRoute['spec']>, 'rules'> & { readonly rules?: ModelRoute['spec']['rules']; readonly to?: string },
  creationTimestamp?: string,
): ModelRoute {
  const { to, ...rest } = spec;
  const targetModels: TargetModel[] = [{ modelServerName: to ?? name, weight: 100 }];
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelRoute',
    metadata: { name, namespace: 'default', ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    spec: { rules: [{ targetModels }], ...rest },
  };
}
