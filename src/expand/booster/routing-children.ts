import { boosterKvConnector } from '../../api/booster-engine';
import type { ModelBooster } from '../../api/model-booster';
import type { ModelRouteManifest } from '../../api/model-route';
import type { ModelServerManifest } from '../../api/model-server';
import { Labels, NETWORKING_API_VERSION } from '../../labels';
import { hashOnce } from '../template-hash';
import { childMeta, childName, selectedLabel } from './child-meta';
import { workerConfig } from './engine-command';

const DEFAULT_RULE = 'default';
/** What the controller writes into every ModelServer. */
const RETRY = { attempts: 5, retryInterval: '0s' } as const;

/** Where the router finds a booster's pods. */
export function boosterServer(booster: ModelBooster, enginePort: number): ModelServerManifest {
  const { backend } = booster.spec;
  const connector = boosterKvConnector(booster.spec);
  const spec = {
    model: servedModelName(booster),
    inferenceEngine: 'vLLM' as const,
    workloadSelector: { matchLabels: selectedLabel(booster), ...pdGroupOf(booster) },
    workloadPort: { port: enginePort },
    trafficPolicy: { retry: RETRY },
    ...(connector.kind === 'value' && connector.value !== undefined ? { kvConnector: { type: connector.value } } : {}),
  };
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelServer',
    metadata: childMeta(
      booster,
      childName(booster),
      backend.name,
      hashOnce(spec, () => spec),
    ),
    spec,
  };
}

/** The model name that clients ask for, and where their requests go. */
export function boosterRoute(booster: ModelBooster): ModelRouteManifest {
  const { metadata, spec } = booster;
  const route = {
    modelName: requestName(booster),
    rules: [
      {
        name: DEFAULT_RULE,
        ...(spec.modelMatch === undefined ? {} : { modelMatch: spec.modelMatch }),
        targetModels: [{ modelServerName: childName(booster) }],
      },
    ],
  };
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelRoute',
    metadata: childMeta(
      booster,
      metadata.name,
      '',
      hashOnce(route, () => route),
    ),
    spec: route,
  };
}

/** Name that the engine is told to serve, as its server or decode worker says; the booster's own name when none does. */
export function servedModelName({ metadata, spec }: ModelBooster): string {
  return writtenServedName(spec.backend) ?? metadata.name;
}

/** The first `served-model-name` that a server or decode worker has. */
export function writtenServedName({ workers }: ModelBooster['spec']['backend']): string | undefined {
  const names = workers
    .filter(({ type }) => type === 'server' || type === 'decode')
    .map((worker) => workerConfig(worker)['served-model-name']);
  return names.find((name): name is string => typeof name === 'string');
}

const requestName = ({ metadata, spec }: ModelBooster): string =>
  spec.name === undefined || spec.name === '' ? metadata.name : spec.name;

function pdGroupOf({ spec: { backend } }: ModelBooster) {
  if (backend.type !== 'vLLMDisaggregated') return {};
  return {
    pdGroup: {
      groupKey: Labels.modelServingGroup,
      prefillLabels: { [Labels.modelServingRole]: 'prefill' },
      decodeLabels: { [Labels.modelServingRole]: 'decode' },
    },
  };
}
