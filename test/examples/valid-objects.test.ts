import { apiKindOf } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import { readManifests } from '../../src/read-manifests';
import { EXAMPLES, synthesizeExamples } from '../helpers/all-examples';
import { coreObjectProblems } from '../helpers/core-object-problems';
import { crdProblems } from '../helpers/crd-problems';
import { definitionProblems } from '../helpers/definition-problems';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';

const newFolder = temporaryFolders();
/** API groups of Kubernetes itself that have a dot in their name, beside `*.k8s.io` groups of other projects. */
const CORE_GROUPS = ['admissionregistration.k8s.io', 'apiextensions.k8s.io', 'networking.k8s.io', 'rbac.authorization.k8s.io'];

function problemsOf(object: KubeObject): readonly string[] {
  if (apiKindOf(object) !== undefined && object.kind !== 'ModelServing') return crdProblems(object);
  const group = object.apiVersion.split('/')[0]!;
  return !group.includes('.') || CORE_GROUPS.includes(group) ? coreObjectProblems(object) : definitionProblems(object);
}

describe('every object of an example', () => {
  const outdir = newFolder();
  beforeAll(() => synthesizeExamples(outdir));

  it.each(EXAMPLES)('%s: has only fields of its kind, of the right types', (example) => {
    const objects = Object.entries(filesUnder(outdir))
      .filter(([path]) => path.startsWith(`${example}/`) && path.endsWith('.yaml'))
      .flatMap(([path, text]) => readManifests(text, path).objects);
    expect(objects.length).toBeGreaterThan(20);
    expect(objects.flatMap(({ file, object }) => problemsOf(object).map((problem) => `${file}: ${problem}`))).toEqual([]);
  });
});
