import { structuralProblems } from '../../constructs/testing/structural-schema';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import type { KubeObject } from '../../src/api/meta';

/** What the structural schema of a kind of ours refuses in `object`, unknown fields included. */
export function crdProblems(object: KubeObject): readonly string[] {
  const definition = customResourceDefinitions.find(
    ({ spec }) => spec.names.kind === object.kind && object.apiVersion.startsWith(`${spec.group}/`),
  );
  return definition === undefined
    ? [`no definition of ${object.apiVersion} ${object.kind}`]
    : structuralProblems(definition, object);
}
