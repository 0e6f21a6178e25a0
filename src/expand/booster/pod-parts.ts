import type { BoosterWorker, ModelBooster } from '../../api/model-booster';
import { cacheMount, modelPath } from './cache';
import { downloaderEnv, type EngineRole, engineEnv } from './environment';
import type { BoosterSettings } from './settings';

/** Images that Kthena's controller adds to a booster's pods. */
export interface BoosterImages {
  /** Copies the model into the cache before the engine starts. */
  readonly downloader: string;
  /** Runs beside the engine. */
  readonly runtime: string;
}

/** What a booster's pods are made from. */
export interface BoosterContext {
  readonly booster: ModelBooster;
  readonly images: BoosterImages;
  readonly settings: BoosterSettings;
  readonly enginePort: number;
  /** Labels of every child, with the revision of the pods. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The container that brings the model into the cache. */
export function downloader({ booster: { metadata, spec }, images }: BoosterContext) {
  const { backend } = spec;
  const env = downloaderEnv(backend);
  return {
    name: `${metadata.name}-model-downloader`,
    image: images.downloader,
    args: ['--source', backend.modelURI, '--output-dir', modelPath(backend)],
    ...(env.length === 0 ? {} : { env }),
    ...envFromOf(backend),
    resources: {},
    volumeMounts: [cacheMount(backend)],
  };
}

/** The container beside the engine: agent and metrics. */
export function runtimeContainer({ booster: { metadata, spec }, images, settings }: BoosterContext, role: EngineRole) {
  return {
    name: 'runtime',
    image: images.runtime,
    args: [
      ...['--port', String(settings.runtimePort)],
      ...['--engine', spec.backend.type.toLowerCase()],
      ...['--engine-base-url', settings.engineUrl],
      ...['--engine-metrics-path', settings.metricsPath],
      ...['--pod', '$(POD_NAME).$(NAMESPACE)'],
      ...['--model', metadata.name],
    ],
    env: engineEnv(spec.backend, role),
    ports: [{ containerPort: settings.runtimePort }],
    resources: {},
  };
}

/** What all of a booster's pods have in common. */
export function podBasics(context: BoosterContext, worker: BoosterWorker) {
  const { runtimeClassName } = context.booster.spec.backend;
  return {
    ...(runtimeClassName === undefined || runtimeClassName === '' ? {} : { runtimeClassName }),
    affinity: worker.affinity ?? {},
    ...(worker.tolerations === undefined || worker.tolerations.length === 0 ? {} : { tolerations: worker.tolerations }),
    initContainers: [downloader(context)],
  };
}

export function envFromOf({ envFrom = [] }: ModelBooster['spec']['backend']) {
  return envFrom.length === 0 ? {} : { envFrom };
}

/** The image that a worker names, if it does. */
export function imageOf({ image }: BoosterWorker) {
  return image === undefined || image === '' ? {} : { image };
}

export function httpHealth(port: number) {
  return { httpGet: { path: '/health', port } };
}
