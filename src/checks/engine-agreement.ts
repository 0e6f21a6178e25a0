import { selects } from '../api/meta';
import type { ModelServer } from '../api/model-server';
import { error, type Problem, shown, warning } from '../api/problem';
import { engineOfApiName } from '../catalog/engines/engine-table';
import type { Finding } from '../errors';
import type { EnginePlan } from '../expand/engine-plan';
import type { ObjectSet } from './object-set';
import type { PlannedServer, PlannedWorkload } from './planned-workloads';
import type { ServingIndex } from './serving-index';

/** Where routing objects say something else than the flags of the engines that they lead to. Engines without flags agree with anything. */
export function* engineAgreement(set: ObjectSet, workloads: readonly PlannedWorkload[], index: ServingIndex): Iterable<Finding> {
  const serversOf = new Map<ModelServer, SelectedServer[]>();
  for (const { object, servers } of workloads) {
    for (const server of servers.filter(({ plan }) => plan.isSilent !== true)) {
      for (const modelServer of index.contextOf(server.pod).modelServers) {
        if (!selects({ matchLabels: modelServer.spec.workloadSelector.matchLabels }, server.pod.metadata.labels)) continue;
        serversOf.set(modelServer, [
          ...(serversOf.get(modelServer) ?? []),
          { ...server, workload: `${object.kind} ${object.metadata.name}` },
        ]);
      }
    }
  }
  for (const [modelServer, servers] of serversOf) {
    const problems = [
      ...servers.flatMap(({ plan, workload }) => disagreements(modelServer, plan, workload)),
      ...unlikeSides(modelServer, servers),
    ];
    for (const problem of once(problems)) yield set.finding(modelServer, problem);
    for (const route of index.routesTo(modelServer)) {
      for (const [i, adapter] of (route.spec.loraAdapters ?? []).entries()) {
        const missing = servers.filter(({ plan }) => !serves(plan, adapter));
        if (missing.length < servers.length) continue;
        yield set.finding(
          route,
          warning(
            `spec.loraAdapters[${i}]`,
            'lora/not-served',
            `no engine behind ModelServer ${modelServer.metadata.name} loads the adapter ${shown(adapter)}`,
            'add it to the engines, or remove it from the route',
          ),
        );
      }
    }
  }
}

interface SelectedServer extends PlannedServer {
  /** Kind and name of its workload. */
  readonly workload: string;
}

function serves(plan: EnginePlan, adapter: string): boolean {
  return Object.hasOwn(plan.adapters, adapter) || plan.loadsAdaptersAtRunTime === true || plan.servedModelNames.includes(adapter);
}

function disagreements({ spec }: ModelServer, plan: EnginePlan, workload: string): readonly Problem[] {
  const problems: Problem[] = [];
  const { port } = spec.workloadPort;
  if (port !== plan.port) {
    problems.push(
      error(
        'spec.workloadPort.port',
        'routing/engine-port',
        `${port}, and the engine of ${workload} listens on ${plan.port}`,
        'make them the same',
      ),
    );
  }
  const engine = engineOfApiName(spec.inferenceEngine);
  if (engine.name !== plan.engine) {
    problems.push(
      error(
        'spec.inferenceEngine',
        'routing/engine-kind',
        `${spec.inferenceEngine}, and ${workload} runs ${plan.engine}, whose metrics have other names`,
        'name the engine that the pods run',
      ),
    );
  }
  if (spec.model && !plan.servedModelNames.includes(spec.model) && !serves(plan, spec.model)) {
    problems.push(
      warning(
        'spec.model',
        'routing/served-name',
        `${shown(spec.model)}, and the engine of ${workload} serves ${plan.servedModelNames.map(shown).join(', ')}`,
        'use a name that the engine serves, or leave it out',
      ),
    );
  }
  return problems;
}

/** What must be equal on both sides of a hand-off, or the KV cache that one sends means nothing to the other. */
const KV_LAYOUT = ['engine', 'model', 'dtype', 'kvCacheDtype', 'blockSize'] as const;

function unlikeSides({ spec }: ModelServer, servers: readonly PlannedServer[]): readonly Problem[] {
  const { pdGroup } = spec.workloadSelector;
  if (pdGroup === undefined) return [];
  const side = (matchLabels: Readonly<Record<string, string>>) =>
    servers.find(({ pod }) => selects({ matchLabels }, pod.metadata.labels))?.plan;
  const prefill = side(pdGroup.prefillLabels);
  const decode = side(pdGroup.decodeLabels);
  if (prefill === undefined || decode === undefined) return [];
  return KV_LAYOUT.filter((field) => prefill[field] !== decode[field]).map((field) =>
    error(
      'spec.workloadSelector.pdGroup',
      'routing/kv-layout',
      `prefill has ${field} ${shown(prefill[field] ?? 'default')}, decode ${shown(decode[field] ?? 'default')}`,
      'give both sides the same: they share KV cache',
    ),
  );
}

/** Pools that differ alike are told once. */
function once(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter(({ code, field }) => {
    const key = `${code} ${field}`;
    return !seen.has(key) && seen.add(key);
  });
}
