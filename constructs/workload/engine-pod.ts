import type { k8s } from 'cdk8s-plus-28';
import { Annotations } from '../../src/labels';
import type { Accelerator } from '../accelerator';
import type { Engine } from '../engine/engine';
import type { Launch } from '../engine/engine-spec';
import type { ApiJson } from '../kube/api-json';
import type { ModelSource } from '../model-source';
import { containerSecurity, HOME, type PodSecurityOptions, podSecurity } from './pod-security';
import type { PodTemplate } from './pod-template';
import type { ShutdownPlan } from './shutdown-plan';

/** Everything that shapes a pod with one engine. */
export interface EnginePodSpec {
  readonly labels: Readonly<Record<string, string>>;
  /** Pods that keep apart from each other, and the node labels whose values tell places apart. */
  readonly spread: { readonly selector: Readonly<Record<string, string>>; readonly topologyKeys: readonly string[] };
  /** Whether it answers requests. The other pods of a replica only compute, and have neither port nor probes. */
  readonly isServing: boolean;
  readonly image: string;
  readonly engine: Engine;
  readonly launch: Launch;
  readonly source: ModelSource;
  readonly accelerator: Accelerator;
  readonly gpus: number;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly cpu: number;
  readonly memoryGiB: number;
  readonly sharedMemoryGiB: number;
  readonly shutdown: ShutdownPlan;
  /** Whether the kubelet can wait by itself: from Kubernetes 1.30 on. */
  readonly hasSleepAction: boolean;
  readonly startupSeconds: number;
  readonly costPerReplicaHour?: number;
  readonly env: Readonly<Record<string, string>>;
  readonly priorityClassName?: string;
  readonly security: PodSecurityOptions;
}

const PROBE_PERIOD_SECONDS = 10;

/** The pod template of one engine, complete but for what a user merges into it. */
export function enginePod(spec: EnginePodSpec): PodTemplate {
  const template: ApiJson<k8s.PodTemplateSpec> = {
    metadata: { labels: spec.labels, annotations: annotations(spec) },
    spec: {
      ...(spec.security.serviceAccountName === undefined
        ? { automountServiceAccountToken: false }
        : { serviceAccountName: spec.security.serviceAccountName }),
      // A Service named `vllm` would set VLLM_PORT in every pod of the namespace, which vLLM reads as its own setting.
      enableServiceLinks: false,
      ...(spec.priorityClassName === undefined ? {} : { priorityClassName: spec.priorityClassName }),
      securityContext: podSecurity(spec.security),
      nodeSelector: spec.nodeSelector,
      tolerations: [{ key: spec.accelerator.resourceName, operator: 'Exists', effect: 'NoSchedule' }],
      ...spreadConstraints(spec.spread),
      terminationGracePeriodSeconds: spec.shutdown.terminationGracePeriodSeconds,
      containers: [engineContainer(spec)],
      volumes: [
        { name: 'dshm', emptyDir: { medium: 'Memory', sizeLimit: `${spec.sharedMemoryGiB}Gi` } },
        { name: 'home', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
        ...modelVolume(spec.source),
      ],
    },
  };
  return withPreStop(template as PodTemplate, spec);
}

function spreadConstraints({ selector, topologyKeys }: EnginePodSpec['spread']): Pick<k8s.PodSpec, 'topologySpreadConstraints'> {
  if (topologyKeys.length === 0) return {};
  return {
    topologySpreadConstraints: topologyKeys.map((topologyKey) => ({
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: selector },
    })),
  };
}

/** Adds the wait before SIGTERM: the kubelet's own where there is one, which the 1.28 types do not know, else the image's `sleep`. */
function withPreStop(template: PodTemplate, { shutdown, hasSleepAction }: EnginePodSpec): PodTemplate {
  const seconds = shutdown.preStopSeconds;
  const preStop = hasSleepAction ? { sleep: { seconds } } : { exec: { command: ['sleep', String(seconds)] } };
  const containers = template.spec.containers.map((container) => ({ ...container, lifecycle: { preStop } }));
  return { ...template, spec: { ...template.spec, containers } };
}

function annotations({ accelerator, costPerReplicaHour, source }: EnginePodSpec): Record<string, string> {
  return {
    [Annotations.accelerator]: accelerator.name,
    // By it checks know what fits; the catalogue knows its own.
    ...(accelerator.facts === undefined ? { [Annotations.acceleratorMemoryGiB]: String(accelerator.memoryGiB) } : {}),
    ...(costPerReplicaHour === undefined ? {} : { [Annotations.costPerReplicaHour]: String(costPerReplicaHour) }),
    ...(source.shapeName === undefined ? {} : { [Annotations.modelShape]: source.shapeName }),
  };
}

function engineContainer(spec: EnginePodSpec): ApiJson<k8s.Container> {
  const { accelerator, engine, gpus, launch } = spec;
  const gpu = { [accelerator.resourceName]: gpus };
  return {
    name: 'engine',
    image: spec.image,
    ...(launch.command === undefined ? {} : { command: [...launch.command] }),
    args: [...launch.args],
    env: environment(spec),
    ...(spec.isServing ? { ports: [{ name: 'http', containerPort: engine.port, protocol: 'TCP' }] } : {}),
    resources: {
      limits: gpu,
      requests: { cpu: spec.cpu, memory: `${spec.memoryGiB}Gi`, ...gpu },
    },
    ...(spec.isServing ? probes(engine, spec.startupSeconds) : {}),
    securityContext: containerSecurity(spec.security),
    volumeMounts: [
      { name: 'dshm', mountPath: '/dev/shm' },
      { name: 'home', mountPath: HOME },
      { name: 'tmp', mountPath: '/tmp' },
      ...(spec.source.mountPath === undefined ? [] : [{ name: 'model', mountPath: spec.source.mountPath, readOnly: true }]),
    ],
  };
}

function probes(
  engine: Engine,
  startupSeconds: number,
): ApiJson<Pick<k8s.Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>> {
  const health = { httpGet: { path: engine.healthPath, port: 'http' } };
  return {
    startupProbe: {
      ...health,
      periodSeconds: PROBE_PERIOD_SECONDS,
      timeoutSeconds: 5,
      failureThreshold: Math.ceil(startupSeconds / PROBE_PERIOD_SECONDS),
    },
    readinessProbe: { ...health, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
    // An engine under full load may answer late; a minute of silence is a hang.
    livenessProbe: { ...health, periodSeconds: PROBE_PERIOD_SECONDS, timeoutSeconds: 10, failureThreshold: 6 },
  };
}

function environment({ engine, env, security, source }: EnginePodSpec): readonly ApiJson<k8s.EnvVar>[] {
  const token = source.origin.kind === 'hub' ? source.origin.token : undefined;
  const own: Readonly<Record<string, string>> = {
    HF_HOME: `${HOME}/.cache/huggingface`,
    // User 1000 has no entry in the image's passwd file; libraries that ask for the user's name take these.
    ...(security.runAsImageUser === true ? {} : { HOME, USER: 'engine' }),
    ...source.hubVariables(engine.apiName),
    ...env,
  };
  return [
    ...Object.entries(own).map(([name, value]) => ({ name, value })),
    ...(token === undefined
      ? []
      : [{ name: source.tokenVariable, valueFrom: { secretKeyRef: { name: token.name, key: token.key } } }]),
  ];
}

function modelVolume({ origin }: ModelSource): readonly ApiJson<k8s.Volume>[] {
  return origin.kind === 'claim' ? [{ name: 'model', persistentVolumeClaim: { claimName: origin.claim, readOnly: true } }] : [];
}
