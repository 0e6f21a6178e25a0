import type { Finding } from '../errors';
import { engineAgreement } from './engine-agreement';
import { fileCase } from './file-case';
import { imageTags } from './image-tags';
import { type CheckedObject, ObjectSet } from './object-set';
import { planWorkloads } from './planned-workloads';
import { checkReferences } from './references';
import { scalingMetrics } from './scaling-metrics';
import { secretData } from './secret-data';
import { singleNodeClaims } from './single-node-claims';
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
  const workloads = planWorkloads(set);
  return [
    ...set.objects.flatMap((object) =>
      [...imageTags(object), ...secretData(object)].map((problem) => set.finding(object, problem)),
    ),
    ...checkReferences(checked),
    ...fileCase(set),
    ...engineAgreement(set, workloads),
    ...scalingMetrics(set, workloads),
    ...singleNodeClaims(set, workloads),
    ...workloads.flatMap((workload) => {
      const file = set.fileOf(workload.object);
      return [...workloadFit(workload)].map((finding) => ({ ...(file === undefined ? {} : { file }), ...finding }));
    }),
  ];
}
