import { boosterEnginePort } from '../api/booster-engine';
import type { BoosterWorker, ModelBooster } from '../api/model-booster';
import type { ModelRouteManifest } from '../api/model-route';
import type { ModelServerManifest } from '../api/model-server';
import type { ModelServingManifest } from '../api/model-serving';
import { error, type Problem } from '../api/problem';
import { WORKLOAD_API_VERSION } from '../labels';
import { boosterProblems } from './booster/booster-problems';
import { childLabels, childMeta, childName } from './booster/child-meta';
import { disaggregatedRole } from './booster/disaggregated-role';
import type { BoosterContext, BoosterImages } from './booster/pod-parts';
import { boosterRoute, boosterServer } from './booster/routing-children';
import { serverRole } from './booster/server-role';
import { boosterSettings } from './booster/settings';
import { hashOnce } from './template-hash';

/** The images that Kthena's Helm chart configures. */
export const KTHENA_IMAGES: BoosterImages = {
  downloader: 'ghcr.io/volcano-sh/downloader:latest',
  runtime: 'ghcr.io/volcano-sh/runtime:latest',
};

/** Seconds before the controller deletes a pod that failed. */
const RESTART_GRACE_SECONDS = 60;

/** What becomes of a ModelBooster. Problems of an expanded one are warnings. */
export type BoosterExpansion =
  | {
      readonly kind: 'expanded';
      readonly modelServing: ModelServingManifest;
      readonly modelServer: ModelServerManifest;
      readonly modelRoute: ModelRouteManifest;
      readonly problems: readonly Problem[];
    }
  | { readonly kind: 'impossible'; readonly problems: readonly Problem[] };

/**
 * The objects that Kthena's controller makes of a ModelBooster: a ModelServing and a ModelServer `<booster>-<backend>`, and a ModelRoute
 * of the booster's name. They differ from the controller's where a build has no cluster to ask: pods are selected by a label that does
 * not depend on a uid, and there are no owner references. The revision of the pods does not depend on `backend.replicas`.
 *
 * @param images of the containers that are added to the engine's. @default what Kthena's Helm chart configures
 */
export function expandModelBooster(booster: ModelBooster, images: BoosterImages = KTHENA_IMAGES): BoosterExpansion {
  const { backend } = booster.spec;
  const port = boosterEnginePort(booster.spec);
  if (port.kind === 'wrong')
    return impossible(error('spec.backend.workers', 'model-booster/port', port.message, 'give one port'));
  const settings = boosterSettings(backend, port.value);
  const problems = boosterProblems(booster, settings);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) return impossible(...problems);

  const { replicas, ...template } = backend;
  const revision = hashOnce(backend, () => template);
  const labels = childLabels(booster, backend.name, revision);
  const context = { booster, images, settings, enginePort: port.value, labels };
  const roles = rolesOf(context);
  const modelServing: ModelServingManifest = {
    apiVersion: WORKLOAD_API_VERSION,
    kind: 'ModelServing',
    metadata: childMeta(booster, childName(booster), backend.name, revision),
    spec: {
      ...(backend.schedulerName === undefined || backend.schedulerName === '' ? {} : { schedulerName: backend.schedulerName }),
      replicas,
      template: {
        restartGracePeriodSeconds: RESTART_GRACE_SECONDS,
        gangPolicy: { minRoleReplicas: Object.fromEntries(roles.map((role) => [role.name, role.replicas])) },
        roles,
      },
    },
  };
  return {
    kind: 'expanded',
    modelServing,
    modelServer: boosterServer(booster, port.value),
    modelRoute: boosterRoute(booster),
    problems,
  };
}

/** The objects of an expansion, in the order in which the controller makes them. */
export function boosterChildren(expansion: Extract<BoosterExpansion, { readonly kind: 'expanded' }>) {
  return [expansion.modelServing, expansion.modelServer, expansion.modelRoute] as const;
}

function rolesOf(context: BoosterContext) {
  const { type, workers } = context.booster.spec.backend;
  const worker = (wanted: BoosterWorker['type']) => workers.find((candidate) => candidate.type === wanted)!;
  if (type === 'vLLM') return [serverRole(context, worker('server'))];
  return [disaggregatedRole(context, worker('prefill'), 'prefill'), disaggregatedRole(context, worker('decode'), 'decode')];
}

function impossible(...problems: readonly Problem[]): BoosterExpansion {
  return { kind: 'impossible', problems };
}
