import type { KubeObject } from '../../src/api/meta';
import type { ModelServerManifest } from '../../src/api/model-server';
import type { ModelServingManifest } from '../../src/api/model-serving';
import type { AppsWorkload } from '../../src/expand/workload-plan';
import { NETWORKING_API_VERSION, WORKLOAD_API_VERSION } from '../../src/labels';

/** A Deployment whose pods carry label `app` with its name. */
export function deploymentOf(name: string, spec: Partial<AppsWorkload['spec']> = {}, image = 'engine:1'): AppsWorkload {
  return appsWorkloadOf('Deployment', name, spec, image);
}

export function statefulSetOf(name: string, spec: Partial<AppsWorkload['spec']> = {}, image = 'engine:1'): AppsWorkload {
  return appsWorkloadOf('StatefulSet', name, spec, image);
}

function appsWorkloadOf(kind: string, name: string, spec: Partial<AppsWorkload['spec']>, image: string): AppsWorkload {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
      ...spec,
    },
  };
}

/** A ModelServing of one role `serve`, an entry and one worker. */
export function servingOf(name: string, spec: object = {}, image = 'engine:1'): ModelServingManifest {
  return {
    apiVersion: WORKLOAD_API_VERSION,
    kind: 'ModelServing',
    metadata: { name, namespace: 'default' },
    spec: {
      ...spec,
      template: {
        roles: [
          {
            name: 'serve',
            replicas: 1,
            workerReplicas: 1,
            entryTemplate: { spec: { containers: [{ name: 'main', image }] } },
            workerTemplate: { spec: { containers: [{ name: 'main', image }] } },
          },
        ],
      },
    },
  };
}

/** A ModelServer of vLLM at port 8000 over pods with label `app`. */
export function serverFor(app: string, spec: Partial<ModelServerManifest['spec']> = {}): ModelServerManifest {
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelServer',
    metadata: { name: app, namespace: 'default' },
    spec: {
      inferenceEngine: 'vLLM',
      workloadSelector: { matchLabels: { app } },
      workloadPort: { port: 8000 },
      ...spec,
    },
  };
}

/** An AutoscalingPolicy of a Deployment. */
export function policyFor(deployment: string): KubeObject & { readonly spec: object } {
  return {
    apiVersion: WORKLOAD_API_VERSION,
    kind: 'AutoscalingPolicy',
    metadata: { name: deployment, namespace: 'default' },
    spec: {
      metrics: [{ name: 'vllm:num_requests_running', targetValue: '8' }],
      homogeneousTarget: {
        target: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment } },
        minReplicas: 1,
        maxReplicas: 4,
      },
    },
  };
}
