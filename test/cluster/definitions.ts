import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import type { KubeObject } from '../../src/api/meta';

/** Definitions of others, below `test/fixtures/crds`. */
const FOREIGN = [
  'kthena/workload.serving.volcano.sh_modelboosters.yaml',
  'kthena/workload.serving.volcano.sh_modelservings.yaml',
  'lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  'lws/disaggregatedset.x-k8s.io_disaggregatedsets.yaml',
  'lws/disaggregatedset.x-k8s.io_disaggregatedsetrolescalers.yaml',
];

/** All that Kvasir installs, and the kinds of Kthena and LeaderWorkerSet that it works with. */
export function allDefinitions(): readonly KubeObject[] {
  const folder = join(__dirname, '../fixtures/crds');
  const foreign = FOREIGN.flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object?.kind === 'CustomResourceDefinition');
  return [...customResourceDefinitions, ...(foreign as readonly KubeObject[])];
}
