import type { BoosterWorker } from '../../api/model-booster';
import { cacheMount, cacheVolume } from './cache';
import { engineCommand, rayWorkerCommand } from './engine-command';
import { engineEnv } from './environment';
import { type BoosterContext, envFromOf, httpHealth, imageOf, podBasics, runtimeContainer } from './pod-parts';

/** Longest time that a pod of this kind is given to finish its requests, in seconds. */
const GRACE_SECONDS = 300;

/** The one role of a `vLLM` backend: an entry with the engine, and Ray workers when it has several pods. */
export function serverRole(context: BoosterContext, worker: BoosterWorker) {
  const { booster, labels, settings, enginePort } = context;
  const { backend } = booster.spec;
  const volumes = [cacheVolume(backend), { name: 'dshm', emptyDir: { medium: 'Memory' } }];
  const volumeMounts = [cacheMount(backend), { name: 'dshm', mountPath: '/dev/shm' }];
  const resources = worker.resources ?? {};
  const engine = {
    name: 'engine',
    ...imageOf(worker),
    command: engineCommand(backend, worker, settings),
    env: engineEnv(backend, 'server'),
    resources,
    volumeMounts,
    readinessProbe: {
      httpGet: { path: '/health', port: enginePort, scheme: 'HTTP' },
      initialDelaySeconds: 180,
      periodSeconds: 5,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
    lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', drainScript(enginePort)] } } },
  };
  const runtime = {
    ...runtimeContainer(context, 'server'),
    ...envFromOf(backend),
    readinessProbe: { ...httpHealth(settings.runtimePort), initialDelaySeconds: 5, periodSeconds: 10 },
  };
  const rayWorker = {
    name: `${backend.name.toLowerCase()}-${backend.type.toLowerCase()}-worker`,
    ...imageOf(worker),
    command: rayWorkerCommand(),
    ...(backend.env === undefined || backend.env.length === 0 ? {} : { env: backend.env }),
    resources,
    volumeMounts,
  };
  const basics = podBasics(context, worker);
  const entry = { ...basics, terminationGracePeriodSeconds: GRACE_SECONDS, volumes, containers: [runtime, engine] };
  return {
    name: 'leader',
    replicas: worker.replicas ?? 0,
    entryTemplate: { metadata: { labels }, spec: entry },
    workerReplicas: Math.max((worker.pods ?? 0) - 1, 0),
    workerTemplate: { metadata: { labels }, spec: { ...basics, volumes, containers: [rayWorker] } },
  };
}

/** Waits until the engine's metrics show no request, as Kthena's pods do, to the byte: a changed script would restart them. */
function drainScript(port: number): string {
  const count = (variable: string, metric: string) =>
    `  ${variable}=$(echo "$METRICS" | grep 'vllm:${metric}' | grep -v '#' | awk '{print $2}' || true)`;
  const end = (indent: string, message: string) => [`${indent}echo "Terminating: ${message}" >> /proc/1/fd/1`, `${indent}exit 0`];
  return [
    'while true; do',
    `  METRICS=$(curl -s --max-time 2 http://localhost:${port}/metrics)`,
    count('RUNNING', 'num_requests_running'),
    count('WAITING', 'num_requests_waiting'),
    '  if [ -z "$RUNNING" ]; then',
    ...end('    ', 'Metrics endpoint unavailable, exiting preStop'),
    '  fi',
    '  if [ "$RUNNING" = "0.0" ] && [ "$WAITING" = "0.0" ]; then',
    ...end('    ', 'No active or waiting requests, safe to terminate'),
    '  else',
    '    echo "Terminating: Running: $RUNNING, Waiting: $WAITING" >> /proc/1/fd/1',
    '    sleep 5',
    '  fi',
    'done',
    '',
  ].join('\n');
}
