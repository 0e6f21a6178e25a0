import { fieldPath } from '../api/field-path';
import { error, type Problem, warning } from '../api/problem';
import { scaleTarget } from '../api/scale-target';
import type { MetricSource, ScaleTargetRef } from '../api/scaling-target';
import { ENGINES } from '../catalog/engines/engine-table';
import { metricsOfVersion } from '../catalog/engines/metrics';
import type { Finding } from '../errors';
import type { EnginePlan } from '../expand/engine-plan';
import { ObjectSet } from './object-set';
import type { PlannedWorkload } from './planned-workloads';

/** Metrics that a policy reads where no container listens, or under a name that the engine does not export. */
export function* scalingMetrics(set: ObjectSet, workloads: readonly PlannedWorkload[]): Iterable<Finding> {
  const byKey = new Map(
    workloads.map((workload) => {
      const { apiVersion, kind, metadata } = workload.object;
      return [ObjectSet.key(apiVersion, kind, metadata.namespace ?? 'default', metadata.name), workload] as const;
    }),
  );
  for (const scaler of [...set.ofKind('AutoscalingPolicy'), ...set.ofKind('AutoscalingPolicyBinding')]) {
    const { homogeneousTarget, heterogeneousTarget } = scaler.spec;
    const targets = [
      ...(homogeneousTarget?.target === undefined
        ? []
        : [{ field: 'spec.homogeneousTarget.target', target: homogeneousTarget.target }]),
      ...(heterogeneousTarget?.params ?? []).flatMap(({ target }, i) =>
        target === undefined ? [] : [{ field: `spec.heterogeneousTarget.params[${i}].target`, target }],
      ),
    ];
    for (const { field, target } of targets) {
      const workload = byKey.get(keyOf(target.targetRef, scaler.metadata.namespace ?? 'default'));
      if (workload === undefined) continue;
      for (const [metric, source] of Object.entries(target.metricSources ?? {})) {
        const path = fieldPath(`${field}.metricSources`, metric);
        for (const problem of sourceProblems(metric, source, workload, path)) yield set.finding(scaler, problem);
      }
    }
  }
}

function keyOf(ref: ScaleTargetRef, namespace: string): string {
  const target = scaleTarget(ref, namespace);
  return ObjectSet.key(target.apiVersion, target.kind, target.namespace, target.name);
}

function* sourceProblems(
  metric: string,
  { pod }: MetricSource,
  { pods, servers, object }: PlannedWorkload,
  path: string,
): Iterable<Problem> {
  if (pod === undefined) return;
  const ports = new Set(servers.map(({ plan }) => plan.port));
  for (const { spec } of pods) {
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      for (const { containerPort } of container.ports ?? []) ports.add(containerPort);
    }
  }
  if (ports.size > 0 && !ports.has(pod.port)) {
    yield warning(
      `${path}.pod.port`,
      'scaling/metric-port',
      `no container of ${object.kind} ${object.metadata.name} exposes ${pod.port}; they expose ${[...ports].sort((a, b) => a - b).join(', ')}`,
      'read the port that has the metrics page',
    );
  }
  const family = pod.name ?? metric;
  for (const { plan } of servers) {
    const problem = nameProblem(family, plan, `${path}.pod.name`, pod.port);
    if (problem === undefined) continue;
    yield problem;
    return;
  }
}

/** An engine's metric by its prefix, known to another engine or under another name in this version. */
function nameProblem(family: string, plan: EnginePlan, field: string, port: number): Problem | undefined {
  const prefix = /^(vllm|sglang):/.exec(family)?.[1];
  if (prefix === undefined || port !== plan.port) return undefined;
  if (prefix !== plan.engine) {
    return error(
      field,
      'scaling/metric-engine',
      `${family} is a metric of ${prefix}, and the target runs ${plan.engine}`,
      `name the metric as ${plan.engine} does`,
    );
  }
  const table = ENGINES[plan.engine].metrics;
  const exported = metricsOfVersion(table, plan.version);
  for (const [concept, names] of Object.entries(table)) {
    if (!names.some(({ name }) => name === family)) continue;
    const actual = exported[concept as keyof typeof exported];
    if (actual === undefined || actual.name === family) continue;
    return error(
      field,
      'scaling/metric-renamed',
      `${plan.engine} ${plan.version} exports no ${family}`,
      `write ${actual.name}, its name in this version`,
    );
  }
  return undefined;
}
