import { structuralProblems } from '../../constructs/testing/structural-schema';
import type { KubeObject } from '../../src/api/meta';
import { fixtureDefinition } from './fixture-definition';

/** Recorded definitions by `group/Kind`. */
const FILES: Readonly<Record<string, string>> = {
  'leaderworkerset.x-k8s.io/LeaderWorkerSet': 'lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  'disaggregatedset.x-k8s.io/DisaggregatedSet': 'lws/disaggregatedset.x-k8s.io_disaggregatedsets.yaml',
  'workload.serving.volcano.sh/ModelServing': 'kthena/workload.serving.volcano.sh_modelservings.yaml',
  'scheduling.volcano.sh/PodGroup': 'volcano/scheduling.volcano.sh_podgroups.yaml',
  'topology.volcano.sh/HyperNode': 'volcano/topology.volcano.sh_hypernodes.yaml',
  'gateway.networking.k8s.io/Gateway': 'gateway/gateway.networking.k8s.io_gateways.yaml',
  'gateway.networking.k8s.io/HTTPRoute': 'gateway/gateway.networking.k8s.io_httproutes.yaml',
  'inference.networking.k8s.io/InferencePool': 'gateway/inference.networking.k8s.io_inferencepools.yaml',
  'monitoring.coreos.com/ServiceMonitor': 'monitoring/monitoring.coreos.com_servicemonitors.yaml',
  'monitoring.coreos.com/PodMonitor': 'monitoring/monitoring.coreos.com_podmonitors.yaml',
  'monitoring.coreos.com/PrometheusRule': 'monitoring/monitoring.coreos.com_prometheusrules.yaml',
  'scheduling.x-k8s.io/PodGroup': 'coscheduling/scheduling.x-k8s.io_podgroups.yaml',
  'argoproj.io/Application': 'argo/application-crd.yaml',
  'kustomize.toolkit.fluxcd.io/Kustomization': 'flux/kustomize.toolkit.fluxcd.io_kustomizations.yaml',
};
const definitions = new Map<string, ReturnType<typeof fixtureDefinition>>();

/** What the recorded definition of somebody else's kind refuses in `object`, unknown fields included. */
export function definitionProblems(object: object): readonly string[] {
  const { apiVersion, kind } = object as KubeObject;
  const key = `${apiVersion.split('/')[0]}/${kind}`;
  const file = FILES[key];
  if (file === undefined) return [`no recorded definition of ${key}`];
  const definition = definitions.get(key) ?? fixtureDefinition(file);
  definitions.set(key, definition);
  return structuralProblems(definition, object as KubeObject);
}
