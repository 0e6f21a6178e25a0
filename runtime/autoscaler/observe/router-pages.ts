import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { Objects } from '../../cluster/objects';
import type { ListenAddress } from '../../lib/http-listen';
import type { Family } from './metrics-page';
import type { PodPage, PodPages } from './pod-pages';

/** Where routers are found. */
export interface Routers {
  /** Value of their pods' label `app`. */
  readonly app: string;
  readonly port: number;
  /** The only one, in place of pods. */
  readonly own?: ListenAddress;
}

/** What one router tells. */
export interface RouterPage {
  /** For people, such as `router pod kvasir-router-0`. */
  readonly name: string;
  readonly page: PodPage;
}

interface View {
  readonly objects: Objects;
  readonly pages: PodPages;
  readonly routers: Routers;
}

const URI = '/metrics';

/** Asks every router whose pod is `isMeant`. */
export async function readRouters(
  { objects, pages, routers }: View,
  isMeant: (pod: Pod) => boolean,
): Promise<readonly RouterPage[]> {
  const { app, port, own } = routers;
  if (own !== undefined) return [{ name: 'the router', page: await pages.readAt(own, URI) }];
  const pods = objects.list('Pod', { labels: { app } }).filter(isMeant);
  return Promise.all(
    pods.map(async (pod) => ({ name: `router pod ${pod.metadata.name}`, page: await pages.read(pod, port, URI) })),
  );
}

/** Names under which clients ask for what these ModelServers select. @param servers by name. */
export function modelsOf(servers: readonly KubeObject[], namespace: string, objects: Objects): ReadonlySet<string> {
  const names = new Set(servers.map(({ metadata }) => metadata.name));
  const leading = objects
    .list('ModelRoute', { namespace })
    .filter(({ spec }) =>
      (spec.rules ?? []).some(({ targetModels }) =>
        targetModels.some(({ modelServerName }) => modelServerName !== undefined && names.has(modelServerName)),
      ),
    );
  return new Set(leading.flatMap(({ spec }) => [...(spec.modelName ? [spec.modelName] : []), ...(spec.loraAdapters ?? [])]));
}

/** Whether a series is of one of the models. @param key its labels as JSON. */
export function isOfModels(key: string, models: ReadonlySet<string>): boolean {
  const labels = JSON.parse(key) as readonly (readonly [string, string])[];
  return labels.some(([name, value]) => name === 'model' && models.has(value));
}

/** Sum of the models' series of a gauge or counter; of a family that has none yet, 0. */
export function totalOf(family: Family | undefined, models: ReadonlySet<string>): number {
  if (family === undefined || family.type === 'histogram' || family.type === 'summary') return 0;
  let total = 0;
  for (const [key, value] of family.series) if (isOfModels(key, models)) total += value;
  return total;
}
