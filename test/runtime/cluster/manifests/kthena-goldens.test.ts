import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openManifestCluster } from '../../../../runtime/cluster/manifests';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { Pod } from '../../../../src/api/pod';
import { storedPodSpec } from '../../../helpers/api-server-defaults';
import { FIXTURES } from '../../../helpers/example-objects';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { EPOCH_MS } from '../../../helpers/manifest-folder';

const folder = join(FIXTURES, 'goldens/kthena');
/** Golden → example it was recorded from, where the names differ. */
const SOURCES: Readonly<Record<string, string>> = { 'models/modelserving': 'models/deepseek-v4-flash/modelserving' };
/** Labels that may differ; test/src/expand/goldens.test.ts tells why. */
const OTHER_LABELS = new Set([
  'modelserving.volcano.sh/revision',
  'modelserving.volcano.sh/role-template-hash',
  'workload.serving.volcano.sh/model-uid',
  'workload.serving.volcano.sh/revision',
  'kvasir.dev/model',
]);

const goldens = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

function comparable({ metadata, spec }: Pod) {
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    labels: Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !OTHER_LABELS.has(key))),
    annotations: metadata.annotations ?? {},
    owners: (metadata.ownerReferences ?? []).map(({ uid, ...owner }) => owner),
    spec: storedPodSpec(spec, metadata.labels ?? {}),
  };
}

const byName = (pods: readonly Pod[]) => pods.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

describe("pods of the manifest cluster and of Kthena's own controllers", () => {
  it.each(goldens)('%s: are the same, down to volumes and probes', async (name) => {
    const example = join(FIXTURES, 'kthena-examples', `${SOURCES[name] ?? name}.yaml`);
    expect(existsSync(example)).toBe(true);
    const { pods } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as { readonly pods: readonly Pod[] };
    const cluster = await openManifestCluster({
      paths: [example],
      clock: new VirtualClock(EPOCH_MS),
      runner: new FakePodRunner(),
    });
    try {
      await cluster.settled();
      expect(byName(cluster.objects.list('Pod')).map(comparable)).toEqual(byName(pods).map(comparable));
    } finally {
      await cluster.close();
    }
  });
});
