import { type ApiObject, Chart, JsonPatch } from 'cdk8s';
import { Construct } from 'constructs';
import { CLUSTER_SCOPED_KINDS } from '../../src/api/cluster-scoped-kinds';
import { decodeKind } from '../../src/api/decode-object';
import { apiKindOf } from '../../src/api/kinds';
import { liveFields } from '../../src/api/live-fields';
import { describeObject, type KubeObject } from '../../src/api/meta';
import type { Problem } from '../../src/api/problem';
import type { Finding } from '../../src/errors';
import type { BoosterImages } from '../../src/expand/booster/pod-parts';
import { boosterChildren, expandModelBooster } from '../../src/expand/expand-model-booster';
import type { ManifestObject } from '../../src/read-manifests';
import { addCheck } from '../check';
import type { Cluster } from '../cluster';
import { stackContext } from '../stack-context';
import { createApiObject } from './kind-classes';
import { markReadFromManifests } from './read-from-manifests';

/** What is done about ModelBoosters. */
export interface BoosterHandling {
  readonly modelBoosters: 'cascade' | 'keep';
  readonly images: BoosterImages;
}

/** The objects of one file, with what Kthena's controller makes of its ModelBoosters. */
export class ManifestFile extends Construct {
  readonly objects: readonly ApiObject[];
  private readonly findings: Finding[] = [];

  constructor(scope: Construct, id: string, manifests: readonly ManifestObject[], handling: BoosterHandling) {
    super(scope, id);
    this.objects = manifests.flatMap((manifest) =>
      apiKindOf(manifest.object) === 'ModelBooster' ? this.booster(manifest, handling) : [this.create(manifest.object)],
    );
    this.findings.push(...manifests.flatMap(dumped));
    addCheck(this, () => [...this.findings, ...unserved(this.objects, stackContext(this).cluster)]);
  }

  private booster(manifest: ManifestObject, { modelBoosters, images }: BoosterHandling): readonly ApiObject[] {
    const decoded = decodeKind('ModelBooster', manifest.object, placeOf(manifest));
    if (decoded.kind === 'invalid') {
      this.findings.push(...decoded.findings);
      return [];
    }
    const expansion = expandModelBooster(decoded.value, images);
    this.findings.push(...decoded.findings, ...expansion.problems.map((problem) => placed(problem, manifest)));
    if (modelBoosters === 'keep') return [this.create(manifest.object)];
    return expansion.kind === 'expanded' ? boosterChildren(expansion).map((child) => this.create(child)) : [];
  }

  private create(object: KubeObject): ApiObject {
    const created = markReadFromManifests(createApiObject(this, this.freeId(`${object.kind}.${object.metadata.name}`), object));
    const isNamespaceAdded = object.metadata.namespace === undefined && Chart.of(this).namespace !== undefined;
    if (isNamespaceAdded && CLUSTER_SCOPED_KINDS.has(object.kind)) created.addJsonPatch(JsonPatch.remove('/metadata/namespace'));
    return created;
  }

  private freeId(wanted: string): string {
    let id = wanted;
    for (let n = 2; this.node.tryFindChild(id) !== undefined; n++) id = `${wanted}-${n}`;
    return id;
  }
}

/** A manifest that was taken from a running cluster. */
function dumped(manifest: ManifestObject): readonly Finding[] {
  const fields = liveFields(manifest.object);
  if (fields.length === 0) return [];
  const message = `is set by the API server (${fields.length} such fields)`;
  const problem = { field: fields.at(-1)!, code: 'manifest/live-fields', message, remedy: 'remove them from the file' };
  return [placed({ severity: 'warning', ...problem }, manifest)];
}

/** Objects that no controller of the cluster acts on. */
function unserved(objects: readonly ApiObject[], cluster: Cluster): readonly Finding[] {
  if (cluster.kthenaServesWorkloads) return [];
  return objects.flatMap((object): readonly Finding[] => {
    const kind = apiKindOf(object);
    if (kind !== 'ModelServing' && kind !== 'ModelBooster') return [];
    return [
      {
        code: kind === 'ModelServing' ? 'cluster/no-model-serving' : 'cluster/no-model-booster',
        severity: kind === 'ModelServing' ? 'warning' : 'error',
        message: `nothing makes pods of ${kind} ${object.name} where Kthena's workload controller is not (kthena: '${cluster.kthena}')`,
        remedy:
          kind === 'ModelServing'
            ? "say kthena: 'workload' in Cluster.of if it is there, or write a ServingGroup or a PDGroup instead"
            : "say kthena: 'workload' in Cluster.of if it is there, or let it be cascaded",
      },
    ];
  });
}

/** Construct path takes the object's place when a finding is reported, so the message names it. */
function placed({ message, ...problem }: Problem, manifest: ManifestObject): Finding {
  return { file: placeOf(manifest), ...problem, message: `${describeObject(manifest.object)}: ${message}` };
}

function placeOf({ file, line }: ManifestObject): string {
  return `${file}:${line}`;
}
