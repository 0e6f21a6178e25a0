import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { expandWorkload } from '../../../src/expand';
import { LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { readManifests } from '../../../src/read-manifests';
import { storedPodSpec } from '../../helpers/api-server-defaults';
import { FIXTURES } from '../../helpers/example-objects';

/** Where our pods differ from those of the LeaderWorkerSet and DisaggregatedSet controllers, and why. Nothing else may. */
const DIFFERENCES = {
  'label controller-revision-hash':
    'the StatefulSet controller hashes Go’s dump of the template; meaning and prefix are the same',
  'label leaderworkerset.sigs.k8s.io/template-revision-hash': 'the same, of the LeaderWorkerSet controller',
  'label disaggregatedset.x-k8s.io/revision': 'the controller hashes Go’s JSON of the roles; it is part of names, replaced there',
  'label leaderworkerset.sigs.k8s.io/group-key':
    'a hash of namespace and leader, whose name has that revision in a DisaggregatedSet',
  'annotation scheduling.k8s.io/group-name': 'ends in the revision; ours has it for every pod that Volcano schedules',
  'owner uid': 'given by the cluster that creates the object',
} as const;

const folder = join(FIXTURES, 'goldens/lws');

interface Recorded {
  readonly pods: readonly Pod[];
  readonly services: readonly KubeObject[];
}

function golden(name: string) {
  const read = (extension: string) => readFileSync(join(folder, `${name}.${extension}`), 'utf8');
  const workload = readManifests(read('yaml'), name).objects.map(({ object }) => object)[0]!;
  return { workload, recorded: JSON.parse(read('json')) as Recorded, plan: expandWorkload(workload)! };
}

const byName = <T extends { readonly metadata: { readonly name: string } }>(objects: readonly T[]) =>
  objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

const without = (kind: 'label' | 'annotation', map: Readonly<Record<string, string>> | undefined) =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !(`${kind} ${key}` in DIFFERENCES)));

function comparable({ metadata, spec }: Pod) {
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    labels: without('label', metadata.labels),
    annotations: without('annotation', metadata.annotations),
    owners: (metadata.ownerReferences ?? []).map(({ uid, ...rest }) => rest),
    spec: { schedulerName: 'default-scheduler', ...(storedPodSpec(spec, metadata.labels ?? {}) as object) },
  };
}

/** Ours with the revision of the recording in names. */
function renamed<T>(objects: T, name: string): T {
  if (name !== 'disaggregatedset') return objects;
  const { plan, recorded } = golden(name);
  const theirs = recorded.pods[0]!.metadata.labels!['disaggregatedset.x-k8s.io/revision']!;
  return JSON.parse(JSON.stringify(objects).replaceAll(plan.revision, theirs)) as T;
}

describe.each(['lws', 'lws-volcano', 'disaggregatedset'])('%s: what the real controllers made', (name) => {
  it('pods are equal', () => {
    const { plan, recorded } = golden(name);
    expect(recorded.pods.length).toBeGreaterThanOrEqual(4);
    const ours = byName(
      renamed(
        plan.pods.map(({ pod }) => pod),
        name,
      ),
    );
    expect(ours.map(comparable)).toEqual(byName(recorded.pods).map(comparable));
  });

  it('Services are equal', () => {
    const { plan, recorded } = golden(name);
    const services = plan.services.map(({ apiVersion, kind, metadata, ...rest }) => ({
      metadata: { ...metadata, ownerReferences: metadata.ownerReferences?.map(({ uid, ...owner }) => owner) },
      ...rest,
    }));
    expect(byName(renamed(services, name))).toEqual(byName(recorded.services));
  });

  it('hashes stand where theirs stand, and a group key is made alike', () => {
    const { plan, recorded } = golden(name);
    for (const pods of [recorded.pods, plan.pods.map(({ pod }) => pod)]) {
      for (const { metadata } of pods) {
        const leader = metadata.annotations?.[LeaderWorkerLabels.leaderName] ?? metadata.name;
        const key = createHash('sha1').update(`${metadata.namespace}/${leader}`).digest('hex');
        expect(metadata.labels![LeaderWorkerLabels.groupKey]).toBe(key);
        expect(metadata.labels![LeaderWorkerLabels.revision]).toMatch(/^[a-z0-9]{1,10}$/);
        expect(metadata.labels!['controller-revision-hash']).toMatch(
          new RegExp(`^${metadata.ownerReferences![0]!.name}-[a-z0-9]{1,10}$`),
        );
      }
    }
  });

  it('pods of Volcano name a group of their own leader and revision', () => {
    const { plan, recorded } = golden(name);
    for (const pods of [recorded.pods, plan.pods.map(({ pod }) => pod)]) {
      for (const { metadata } of pods) {
        const leader = metadata.annotations?.[LeaderWorkerLabels.leaderName] ?? metadata.name;
        const group = `${leader}-${metadata.labels![LeaderWorkerLabels.revision]}`;
        expect(metadata.annotations?.['scheduling.k8s.io/group-name']).toBe(name === 'lws-volcano' ? group : undefined);
      }
    }
  });
});
