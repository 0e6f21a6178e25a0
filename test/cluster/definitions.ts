import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import type { KubeObject } from '../../src/api/meta';

/** Kinds that images work with, below `test/fixtures/crds`. */
const WORKLOADS = [
  'kthena/workload.serving.volcano.sh_modelboosters.yaml',
  'kthena/workload.serving.volcano.sh_modelservings.yaml',
  'lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  'lws/disaggregatedset.x-k8s.io_disaggregatedsets.yaml',
  'lws/disaggregatedset.x-k8s.io_disaggregatedsetrolescalers.yaml',
];

/** Kinds that a cluster has before the output of examples comes. */
const BEFORE_EXAMPLES = [
  'argo/application-crd.yaml',
  'gateway/gateway.networking.k8s.io_httproutes.yaml',
  'lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  'monitoring/monitoring.coreos.com_podmonitors.yaml',
  'monitoring/monitoring.coreos.com_prometheusrules.yaml',
  'monitoring/monitoring.coreos.com_servicemonitors.yaml',
  'volcano/scheduling.volcano.sh_podgroups.yaml',
];

/** All that Kvasir installs, and the kinds of Kthena and LeaderWorkerSet that it works with. */
export function allDefinitions(): readonly KubeObject[] {
  return [...customResourceDefinitions, ...recorded(WORKLOADS)];
}

/** Kinds of other projects that examples use. */
export function definitionsBeforeExamples(): readonly KubeObject[] {
  return recorded(BEFORE_EXAMPLES);
}

function recorded(files: readonly string[]): readonly KubeObject[] {
  const folder = join(__dirname, '../fixtures/crds');
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object): object is KubeObject => object?.kind === 'CustomResourceDefinition');
}
