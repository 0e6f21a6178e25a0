import { keyOf } from '../api/meta';
import type { ModelRoute } from '../api/model-route';
import { matchesAll } from '../api/model-route-rules';
import type { ModelServer } from '../api/model-server';
import { error, type Problem, shown, warning } from '../api/problem';
import type { Finding } from '../errors';
import { NETWORKING_API_VERSION } from '../labels';
import type { ObjectSet } from './object-set';
import { PodTemplateIndex } from './pod-template-index';
import { mayMatch } from './pod-templates';

/** Routes to servers and providers that are not there, servers without pods, several routes for one model. */
export function* routingReferences(set: ObjectSet): Iterable<Finding> {
  for (const route of set.ofKind('ModelRoute'))
    for (const problem of missingTargets(route, set)) yield set.finding(route, problem);
  yield* sharedNames(set);
  const servers = set.ofKind('ModelServer');
  const selectors = servers.map(({ spec }) => spec.workloadSelector.matchLabels ?? {});
  const pods = new PodTemplateIndex(set.objects, selectors);
  for (const server of servers) {
    for (const problem of missingPods(server, pods)) yield set.finding(server, problem);
  }
}

function* missingTargets(route: ModelRoute, set: ObjectSet): Iterable<Problem> {
  const namespace = route.metadata.namespace ?? 'default';
  for (const [i, { targetModels, shadow }] of route.spec.rules.entries()) {
    if (shadow !== undefined) yield* missingServer(shadow.modelServerName, `spec.rules[${i}].shadow`, namespace, set);
    for (const [j, { modelServerName, externalModelProviderName }] of targetModels.entries()) {
      const path = `spec.rules[${i}].targetModels[${j}]`;
      if (modelServerName) {
        yield* missingServer(modelServerName, path, namespace, set);
      } else if (externalModelProviderName) {
        if (set.find(NETWORKING_API_VERSION, 'ExternalModelProvider', namespace, externalModelProviderName)) continue;
        yield error(
          `${path}.externalModelProviderName`,
          'routing/missing-provider',
          `there is no ExternalModelProvider ${shown(externalModelProviderName)} in namespace ${namespace}`,
          'add it, or correct the name',
        );
      }
    }
  }
}

function* missingServer(name: string, path: string, namespace: string, set: ObjectSet): Iterable<Problem> {
  if (set.boosterChildren.has(`${namespace}/${name}`)) return;
  if (set.find(NETWORKING_API_VERSION, 'ModelServer', namespace, name)) return;
  yield error(
    `${path}.modelServerName`,
    'routing/missing-server',
    `there is no ModelServer ${shown(name)} in namespace ${namespace}`,
    'add it, or correct the name',
  );
}

/** Routes of one name are asked in order of age: what the older one matches never reaches the younger. */
function* sharedNames(set: ObjectSet): Iterable<Finding> {
  const first = new Map<string, ModelRoute>();
  const byAge = [...set.ofKind('ModelRoute')].sort((a, b) => compare(ageKey(a), ageKey(b)));
  for (const route of byAge) {
    const { modelName, loraAdapters = [] } = route.spec;
    const names = [
      ...(modelName ? [{ name: modelName, key: `model ${modelName}`, field: 'spec.modelName' }] : []),
      ...loraAdapters.map((name, i) => ({ name, key: `adapter ${name}`, field: `spec.loraAdapters[${i}]` })),
    ];
    for (const { name, key, field } of names) {
      const older = first.get(key);
      if (older === undefined) first.set(key, route);
      else if (older !== route) {
        yield set.finding(route, isShadowed(route, older) ? shadowed(field, name, older) : shared(field, name, older));
      }
    }
  }
}

/** An older route without conditions takes every request of the gateways that both have. */
function isShadowed({ spec }: ModelRoute, older: ModelRoute): boolean {
  if (!older.spec.rules.some(matchesAll)) return false;
  const parents = (refs: ModelRoute['spec']['parentRefs']) => refs?.map(({ namespace, name }) => `${namespace ?? ''}/${name}`);
  const taken = parents(older.spec.parentRefs);
  return taken === undefined || (parents(spec.parentRefs)?.every((parent) => taken.includes(parent)) ?? false);
}

function shadowed(field: string, name: string, older: ModelRoute): Problem {
  return warning(
    field,
    'routing/shadowed',
    `ModelRoute ${keyOf(older)} takes every request for ${shown(name)}, so that none reaches this route`,
    'put all rules into one route, or give the other one conditions',
  );
}

function shared(field: string, name: string, older: ModelRoute): Problem {
  return {
    severity: 'info',
    field,
    code: 'routing/shared-name',
    message: `ModelRoute ${keyOf(older)} also serves ${shown(name)}, and the older of the two is asked first`,
    remedy: 'give their rules different conditions, or rename one model',
  };
}

/** Objects without a creation time are new: they come last, by name. */
const ageKey = ({ metadata }: ModelRoute): readonly [string, string] => [metadata.creationTimestamp ?? '~', keyOf({ metadata })];

function compare([a, c]: readonly [string, string], [b, d]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : c < d ? -1 : c > d ? 1 : 0;
}

function* missingPods({ metadata, spec }: ModelServer, index: PodTemplateIndex): Iterable<Problem> {
  const { matchLabels = {}, pdGroup } = spec.workloadSelector;
  const path = 'spec.workloadSelector';
  const selected = index.matching(metadata.namespace ?? 'default', matchLabels);
  if (selected.length === 0) {
    yield warning(
      `${path}.matchLabels`,
      'routing/no-pods',
      `no workload here makes pods with ${labelText(matchLabels)}`,
      'correct the labels, or add the workload',
    );
    return;
  }
  if (pdGroup === undefined) return;
  for (const side of ['prefillLabels', 'decodeLabels'] as const) {
    const pods = selected.filter((labels) => mayMatch(labels, pdGroup[side]));
    if (pods.length === 0) {
      yield warning(
        `${path}.pdGroup.${side}`,
        'routing/no-pods',
        `no workload here makes pods with ${labelText({ ...matchLabels, ...pdGroup[side] })}`,
        'correct the labels, or add the workload',
      );
    } else if (!pods.some((labels) => Object.hasOwn(labels, pdGroup.groupKey))) {
      yield warning(
        `${path}.pdGroup.groupKey`,
        'routing/no-group-label',
        `pods with ${labelText(pdGroup[side])} have no label ${shown(pdGroup.groupKey)}`,
        'name a label that both prefill and decode pods have',
      );
    }
  }
}

const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
