import type { Construct, IConstruct } from 'constructs';
import type { Finding } from '../src/errors';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import { engineWithAdapters, type LoraAdapter } from './lora-adapter';
import type { ModelCache } from './model-cache';
import type { ModelDownload } from './model-download';
import type { ModelRouteProps } from './model-route';
import type { ModelSource } from './model-source';
import { ModelWeights } from './model-weights';
import type { ServingGroup } from './serving-group';
import type { PodSecurityOptions } from './workload/pod-security';

/** Where a model and its adapters come from, and how their files reach the pods: the same for every way to serve it. */
export interface ModelFilesProps {
  /** Where the model comes from. */
  readonly source: ModelSource;
  /** Volume that keeps the model's files. @default none: each pod loads them anew */
  readonly cache?: ModelCache;
  /** Program that fills the cache before engines start. @default none: engines download into the cache themselves */
  readonly download?: ModelDownload;
  /** LoRA adapters, each served under its own name beside the model, at most ten on one route. @default none */
  readonly adapters?: readonly LoraAdapter[];
  /** Adapters that are in GPU memory together. @default all, at most eight */
  readonly maxLoras?: number;
}

/** The route of one model, without what the model's construct writes itself; `false` for none. */
export type OwnRoute = Omit<ModelRouteProps, 'name' | 'rules'> | false;

/** Gives engines, pods and route of one model what its files and adapters need. */
export class ModelFiles {
  readonly weights: ModelWeights;

  /**
   * Creates `Weights` under `scope`.
   *
   * @param name of the model.
   * @param maxPods most pods that may run at once.
   */
  constructor(
    scope: Construct,
    name: string,
    private readonly props: ModelFilesProps,
    maxPods: number,
  ) {
    const { source, cache, download, adapters } = props;
    this.weights = new ModelWeights(scope, 'Weights', { name, source, cache, download, adapters, maxPods });
    addCheck(scope, () => nameFindings(name, adapters ?? []));
  }

  /** The model as engines find it. */
  get source(): ModelSource {
    return this.weights.source;
  }

  /** `engine`, started with the adapters. */
  engine(engine: Engine): Engine {
    return engineWithAdapters(engine, this.weights.adapters, this.props.maxLoras);
  }

  /**
   * Gives pods the volume and what fills it.
   *
   * @param workload holds the object that makes the pods, where that is not `group` itself.
   */
  give(group: ServingGroup, security: PodSecurityOptions = {}, workload: IConstruct = group): void {
    const { job } = this.weights;
    group.pod.merge(this.weights.podPatch(security));
    if (job !== undefined) workload.node.addDependency(job);
  }

  /** The route with the adapters' names beside those that it has. */
  route(route: OwnRoute | undefined): OwnRoute | undefined {
    const { adapters = [] } = this.props;
    if (route === false || adapters.length === 0) return route;
    return { ...route, loraAdapters: [...new Set([...(route?.loraAdapters ?? []), ...adapters.map(({ name }) => name)])] };
  }
}

function nameFindings(model: string, adapters: readonly LoraAdapter[]): readonly Finding[] {
  const seen = new Set([model]);
  return adapters
    .filter(({ name }) => seen.has(name) || !seen.add(name))
    .map(({ name }) => ({
      code: 'lora/name-taken',
      severity: 'error',
      field: 'adapters',
      message: `a second ${name} would answer for the first`,
      remedy: 'rename one of them',
    }));
}
