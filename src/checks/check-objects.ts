import type { Finding } from '../errors';
import { engineAgreement } from './engine-agreement';
import { fileCase } from './file-case';
import { imageTags } from './image-tags';
import { type CheckedObject, ObjectSet } from './object-set';
import { planWorkloads } from './planned-workloads';
import { referenceFindings } from './references';
import { scalingMetrics } from './scaling-metrics';
import { secretData } from './secret-data';
import { ServingIndex } from './serving-index';
import { singleNodeClaims } from './single-node-claims';
import { sharedLimits, unlikeLimits } from './unlike-limits';
import { workloadFit } from './workload-fit';

/**
 * Everything that can be wrong with valid objects: references, models that do not fit their GPUs, ports, names and metrics on which
 * engine flags, routing and scaling disagree, volumes that too many pods want, moving image tags, Secrets in plain sight. Objects that
 * are not given count as absent, so give all of a cluster or of a folder at once.
 *
 * @param checked objects of our kinds decoded by `decodeObject`, everything else as it is.
 */
export function checkObjects(checked: readonly CheckedObject[]): readonly Finding[] {
  const set = new ObjectSet(checked);
  const index = new ServingIndex(set);
  const workloads = planWorkloads(set, index);
  return [
    ...ofEachObject(set),
    ...referenceFindings(set),
    ...fileCase(set),
    ...sharedLimits([...set.ofKind('ModelRoute')]).flatMap((shared) =>
      [...unlikeLimits(shared)].map((problem) => set.finding(shared.route, problem)),
    ),
    ...engineAgreement(set, workloads, index),
    ...scalingMetrics(set, workloads),
    ...singleNodeClaims(set, workloads),
    ...workloads.flatMap((workload) => {
      const file = set.fileOf(workload.object);
      return [...workloadFit(workload)].map((finding) => ({ ...(file === undefined ? {} : { file }), ...finding }));
    }),
  ];
}

function* ofEachObject(set: ObjectSet): Iterable<Finding> {
  for (const object of set.objects) {
    for (const problem of imageTags(object)) yield set.finding(object, problem);
    for (const problem of secretData(object)) yield set.finding(object, problem);
  }
}
