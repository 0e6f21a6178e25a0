import { describeObject, keyOf } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import type { Finding } from '../../../src/errors';
import type { EndpointRegistry } from '../endpoints/endpoint-registry';
import type { PdMember } from '../endpoints/pd-pool';

/** Why pods of a ModelServer that are of both roles never pair. */
export function pairingFindings(server: ModelServer, registry: Pick<EndpointRegistry, 'pdPool'>): readonly Finding[] {
  const { pdGroup } = server.spec.workloadSelector;
  const pool = registry.pdPool(keyOf(server));
  if (pdGroup === undefined || pool === undefined || pool.prefill.length === 0 || pool.decode.length === 0) return [];
  const place = { object: describeObject(server), field: 'spec.workloadSelector.pdGroup', severity: 'warning' } as const;
  const groups = shared(pool.prefill, pool.decode, ({ place: { group } }) => group);
  if (groups.size === 0) {
    return [
      {
        ...place,
        code: 'routing/no-pair',
        message: `no prefill pod has a value of ${pdGroup.groupKey} that a decode pod has`,
        remedy: 'give pods that may pair the same value of that label',
      },
    ];
  }
  if (shared(pool.prefill, pool.decode, ({ place: { group, revision } }) => `${group}\n${revision}`).size > 0) return [];
  return [
    {
      ...place,
      code: 'routing/no-pair',
      message: 'prefill and decode pods of no group have the same KV revision: engine, version or model differ',
      remedy: 'let the rollout end, or give both roles the same engine and model',
    },
  ];
}

function shared(a: readonly PdMember[], b: readonly PdMember[], of: (member: PdMember) => string): ReadonlySet<string> {
  const known = new Set(a.map(of));
  return new Set(b.map(of).filter((each) => known.has(each)));
}
