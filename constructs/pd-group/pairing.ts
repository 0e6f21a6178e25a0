import type { Finding } from '../../src/errors';
import type { Engine } from '../engine/engine';
import type { Launch } from '../engine/engine-spec';
import type { KvLayout } from '../engine/kv-layout';
import { type KvConnector, workingConnector } from '../kv-connector';
import { DEFAULT_BOOTSTRAP_PORT, type KvWiring, type TensorParallelRule } from '../kv-connector/wiring';

/** One role as far as the other one must match it. `ServingGroup` is one. */
export interface PairedRole {
  readonly engine: Engine;
  readonly launch: Launch;
  readonly parallelism: { readonly tensor: number };
}

/** Why prefill and decode of these could not use each other's KV cache. */
export function pairingFindings(
  prefill: PairedRole,
  decode: PairedRole,
  connector: KvConnector,
  wiring: KvWiring | undefined,
): readonly Finding[] {
  if (wiring === undefined) return [unknownCombination(connector, prefill.engine)];
  return [
    ...unlikeEngines(prefill.engine, decode.engine),
    ...unlikeLayouts(prefill, decode),
    ...unlikeSplits(prefill.parallelism.tensor, decode.parallelism.tensor, wiring.tensorParallel, connector),
  ];
}

function unknownCombination(connector: KvConnector, engine: Engine): Finding {
  return {
    code: 'pd/connector-engine',
    severity: 'error',
    field: 'connector',
    message:
      connector.name === 'http' && engine.apiName === 'vLLM'
        ? `${engine.name} shares no KV over the connector http without a sharedFolder`
        : `${engine.name} does not work with the connector ${connector.name}`,
    remedy: `use ${workingConnector(engine)}`,
  };
}

function unlikeEngines(prefill: Engine, decode: Engine): readonly Finding[] {
  const [a, b] = [identity(prefill), identity(decode)];
  if (a === b && prefill.port === decode.port) return [];
  return [
    {
      code: 'pd/unlike-engines',
      severity: 'error',
      field: 'decode.engine',
      message:
        a === b ? `decode listens on port ${decode.port}, prefill on ${prefill.port}` : `decode runs ${b} and prefill ${a}`,
      remedy: 'give both roles the same engine, version and port; other options may differ',
    },
  ];
}

function identity({ apiName, release, image }: Engine): string {
  return release === undefined ? image : `${apiName} ${release.version}`;
}

const LAYOUT_NAMES: Readonly<Record<keyof KvLayout, string>> = {
  blockSize: 'block size',
  dtype: 'dtype',
  cacheDtype: 'KV cache dtype',
};

function unlikeLayouts(prefill: PairedRole, decode: PairedRole): readonly Finding[] {
  const [a, b] = [prefill, decode].map(({ engine, launch }) => engine.kvLayoutOf?.(launch));
  if (a === undefined || b === undefined) return [];
  return (Object.keys(LAYOUT_NAMES) as (keyof KvLayout)[])
    .filter((key) => a[key] !== b[key])
    .map((key) => ({
      code: 'pd/kv-layout',
      severity: 'error',
      field: 'decode.engine',
      message: `the ${LAYOUT_NAMES[key]} of decode is ${b[key] ?? "the engine's default"}, that of prefill ${a[key] ?? "the engine's default"}`,
      remedy: 'give both roles the same, or decode cannot read what prefill computed',
    }));
}

function unlikeSplits(prefill: number, decode: number, rule: TensorParallelRule, connector: KvConnector): readonly Finding[] {
  const isFine = {
    multiple: prefill % decode === 0 || decode % prefill === 0,
    equal: prefill === decode,
    one: prefill === 1 && decode === 1,
  }[rule];
  if (isFine) return [];
  const needed = {
    multiple: 'make one a multiple of the other',
    equal: 'make them equal',
    one: 'use one GPU per engine, or another connector',
  }[rule];
  return [
    {
      code: 'pd/tensor-parallel',
      severity: 'error',
      field: 'parallelism.tensor',
      message: `prefill splits the model ${prefill} ways and decode ${decode}, which the connector ${connector.name} cannot carry over`,
      remedy: needed,
    },
  ];
}

/** What Kthena's router does not know of a connector: another bootstrap port than the default, and Mooncake's own protocol. */
export function foreignRouterFindings({ bootstrapPort, handOff }: KvWiring, { release }: Engine): readonly Finding[] {
  const findings: Finding[] = [];
  if (bootstrapPort !== undefined && bootstrapPort !== DEFAULT_BOOTSTRAP_PORT) {
    findings.push({
      code: 'pd/bootstrap-port',
      severity: 'error',
      field: 'connector.bootstrapPort',
      message: `Kthena's router looks for bootstrap servers on port ${DEFAULT_BOOTSTRAP_PORT} only, not on ${bootstrapPort}`,
      remedy: 'leave bootstrapPort out',
    });
  }
  // It sends what NIXL takes, without the transfer_id by which the two sides of vLLM's MooncakeConnector find each other.
  if (handOff === 'mooncake' && release?.name === 'vllm') {
    findings.push({
      code: 'pd/foreign-router',
      severity: 'error',
      field: 'connector',
      message: "Kthena's router speaks NIXL's protocol to Mooncake, and vLLM would transfer nothing",
      remedy: "use KvConnector.nixl(), or say kthena: 'absent' or 'workload' in Cluster.of",
    });
  }
  return findings;
}
