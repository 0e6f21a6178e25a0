import type { BoosterWorker } from '../../api/model-booster';
import { cacheMount, cacheVolume } from './cache';
import { engineCommand } from './engine-command';
import { engineEnv } from './environment';
import { type BoosterContext, envFromOf, httpHealth, imageOf, podBasics, runtimeContainer } from './pod-parts';

/** A role of a `vLLMDisaggregated` backend: one pod per instance, whatever `pods` says. */
export function disaggregatedRole(context: BoosterContext, worker: BoosterWorker, role: 'prefill' | 'decode') {
  const { booster, labels, settings, enginePort } = context;
  const { backend } = booster.spec;
  const engine = {
    name: 'vllm',
    ...imageOf(worker),
    imagePullPolicy: 'IfNotPresent',
    command: engineCommand(backend, worker, settings),
    env: engineEnv(backend, role),
    ports: [{ containerPort: enginePort }],
    resources: worker.resources ?? {},
    volumeMounts: [cacheMount(backend)],
    readinessProbe: { ...httpHealth(enginePort), initialDelaySeconds: 5, periodSeconds: 5, failureThreshold: 3 },
    livenessProbe: { ...httpHealth(enginePort), initialDelaySeconds: 180, periodSeconds: 5, failureThreshold: 3 },
  };
  // Only the decode side's runtime container gets the sources of the environment.
  const runtime = { ...runtimeContainer(context, role), ...(role === 'decode' ? envFromOf(backend) : {}) };
  const entry = { ...podBasics(context, worker), volumes: [cacheVolume(backend)], containers: [runtime, engine] };
  return {
    name: role,
    replicas: worker.replicas ?? 0,
    entryTemplate: { metadata: { labels }, spec: entry },
    workerReplicas: 0,
    // Without containers, and without effect but one: the controller makes a Service for each role that has a worker template.
    workerTemplate: { spec: { containers: [] } },
  };
}
