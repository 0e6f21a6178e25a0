import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { boosterChildren, expandModelBooster, expandWorkload } from '../../../src/expand';
import { exampleObjects, FIXTURES } from '../../helpers/example-objects';

const folder = join(FIXTURES, 'goldens/kthena');

/** Where our pods differ from those of Kthena's own controller, and why. Nothing else may. */
const DIFFERENCES = {
  'label modelserving.volcano.sh/revision':
    'the controller hashes Go’s dump of its structs; the alphabet and the meaning are the same',
  'label modelserving.volcano.sh/role-template-hash': 'the same',
  'env fieldRef.apiVersion': 'the API server fills in its default v1',
  'owner uid': 'given by the cluster that creates the object',
  'label workload.serving.volcano.sh/model-uid':
    'of a ModelBooster’s pods: a build does not know the uid, and one made anew would have another; kvasir.dev/model stands for it',
  'label kvasir.dev/model': 'stands for model-uid: the booster’s name, which its ModelServer selects by',
  'label workload.serving.volcano.sh/revision':
    'of a ModelBooster’s pods: a hash as above, and blind to backend.replicas, so that scaling restarts no pod',
} as const;

/** Golden → example it was recorded from. */
const SOURCES: Readonly<Record<string, string>> = { 'models/modelserving': 'models/deepseek-v4-flash/modelserving' };

const goldens = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length))
  .map((name) => ({ name, example: `${SOURCES[name] ?? name}.yaml` }));

interface Recorded {
  readonly pods: readonly Pod[];
  readonly services: readonly { readonly metadata: { readonly name: string } }[];
}

const byName = <T extends { readonly metadata: { readonly name: string } }>(objects: readonly T[]) =>
  objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

/** The ModelServing of an example, as it is or as a ModelBooster makes it. */
function modelServingOf(example: string): KubeObject {
  const [first] = exampleObjects(example).flatMap((object) => {
    if (object.kind !== 'ModelBooster') return object.kind === 'ModelServing' ? [object] : [];
    const expansion = expandModelBooster(decoded('ModelBooster', object));
    return expansion.kind === 'expanded' ? [decoded('ModelServing', boosterChildren(expansion)[0])] : [];
  });
  return first!;
}

function decoded<K extends 'ModelBooster' | 'ModelServing'>(kind: K, object: unknown) {
  const outcome = decodeKind(kind, object);
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
  return outcome.value;
}

/** What is compared of a pod: metadata without the listed differences, environment, images, commands. */
function comparable({ metadata, spec }: Pod) {
  const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => !(`label ${key}` in DIFFERENCES));
  const withoutVersion = (value: unknown) =>
    JSON.parse(JSON.stringify(value ?? []), (key, inner) => (key === 'fieldRef' ? { fieldPath: inner.fieldPath } : inner));
  const containers = (list: Pod['spec']['containers'] = []) =>
    list.map(({ name, image, env, command, args }) => ({ name, image, env: withoutVersion(env), command, args }));
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    labels: Object.fromEntries(labels),
    annotations: metadata.annotations ?? {},
    owners: (metadata.ownerReferences ?? []).map(({ uid, ...rest }) => rest),
    schedulerName: (spec as { readonly schedulerName?: string }).schedulerName,
    containers: containers(spec.containers),
    initContainers: containers(spec.initContainers),
  };
}

describe("pods and Services of Kthena's own controller", () => {
  it('are recorded for many examples', () => {
    expect(goldens.length).toBeGreaterThanOrEqual(18);
    for (const { example } of goldens)
      expect([example, existsSync(join(FIXTURES, 'kthena-examples', example))]).toEqual([example, true]);
  });

  it.each(goldens)('$name: ours are equal', ({ name, example }) => {
    const golden = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Recorded;
    const plan = expandWorkload(modelServingOf(example))!;
    expect(byName(plan.pods.map(({ pod }) => pod)).map(comparable)).toEqual(byName(golden.pods).map(comparable));
    const services = plan.services.map(({ apiVersion, kind, metadata, ...rest }) => ({
      metadata: { ...metadata, ownerReferences: metadata.ownerReferences?.map(({ uid, ...owner }) => owner) },
      ...rest,
    }));
    expect(byName(services)).toEqual(byName(golden.services));
  });

  // Of ModelBoosters' pods the hashes depend on the booster's uid, and are masked in the recording.
  it.each(goldens.filter(({ name }) => !name.startsWith('model-booster/')))(
    '$name: our hashes stand where theirs stand',
    ({ name, example }) => {
      const golden = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Recorded;
      const plan = expandWorkload(modelServingOf(example))!;
      for (const key of ['modelserving.volcano.sh/revision', 'modelserving.volcano.sh/role-template-hash']) {
        const theirs = new Map(golden.pods.map((pod) => [pod.metadata.name, pod.metadata.labels![key]!]));
        const ours = plan.pods.map(({ pod }) => [pod.metadata.name, pod.metadata.labels![key]!] as const);
        for (const [a, hashA] of ours) {
          expect(hashA).toMatch(/^[bcdf4-9]{1,10}$/);
          for (const [b, hashB] of ours)
            expect([key, a, b, hashA === hashB]).toEqual([key, a, b, theirs.get(a) === theirs.get(b)]);
        }
      }
    },
  );
});
