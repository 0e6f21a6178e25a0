import { pdPlaceOf } from '../../../../runtime/router/endpoints/pd-place';
import { Labels } from '../../../../src/labels';
import { modelServerOf, podOf } from '../../../helpers/router-cluster';

const SERVER = modelServerOf('a', {
  workloadSelector: {
    matchLabels: { app: 'a' },
    pdGroup: { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } },
  },
});

const placed = (
  args: readonly string[],
  changes: { readonly image?: string; readonly env?: Record<string, string>; readonly labels?: Record<string, string> } = {},
) => {
  const pod = podOf('a', 0, { labels: { app: 'a', role: 'p', group: 'g', ...changes.labels } });
  const env = Object.entries(changes.env ?? {}).map(([name, value]) => ({ name, value }));
  const container = {
    name: 'engine',
    image: changes.image ?? 'vllm/vllm-openai:v0.32.0',
    args: ['--model', 'Qwen/Qwen3-8B', ...args],
    env,
  };
  return pdPlaceOf({ ...pod, spec: { containers: [container] } }, SERVER);
};
const transfer = (connector: string, extra: object = {}): readonly string[] => [
  '--kv-transfer-config',
  JSON.stringify({ kv_connector: connector, kv_role: 'kv_producer', kv_connector_extra_config: extra }),
];

describe('what is read of a pod that pairs', () => {
  it.each<[string, ReturnType<typeof placed>, object]>([
    ['the lease of NIXL', placed(transfer('NixlConnector', { kv_lease_duration: 12 })), { leaseMs: 12_000, ranks: 1 }],
    ['the default lease of NIXL', placed(transfer('NixlConnector')), { leaseMs: 30_000 }],
    [
      'port and lease of Mooncake',
      placed(transfer('MooncakeConnector'), {
        env: { VLLM_MOONCAKE_BOOTSTRAP_PORT: '9100', VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: '60' },
      }),
      { bootstrap: { host: '10.0.0.1', port: 9100 }, leaseMs: 60_000 },
    ],
    [
      'port and ranks of SGLang',
      placed(['--disaggregation-mode', 'prefill', '--disaggregation-bootstrap-port', '9200', '--dp-size', '4'], {
        image: 'lmsysorg/sglang:v0.5.23',
      }),
      { bootstrap: { host: '10.0.0.1', port: 9200 }, ranks: 4, leaseMs: undefined },
    ],
    [
      'nothing of flags, with the engines’ defaults',
      placed([]),
      { bootstrap: { host: '10.0.0.1', port: 8998 }, leaseMs: undefined },
    ],
    ['group and revision', placed([], { labels: { [Labels.kvRevision]: 'r7' } }), { group: 'g', revision: 'r7' }],
    ['engine and version, without a revision', placed([]), { revision: 'vllm 0.32.0' }],
  ])('%s', (_name, place, expected) => {
    expect(place).toMatchObject(expected);
  });

  it('is nothing for a pod without the group’s label, or without an address', () => {
    expect(pdPlaceOf(podOf('a', 0, { labels: { app: 'a', role: 'p' } }), SERVER)).toBeUndefined();
    expect(pdPlaceOf(podOf('a', 0, { labels: { app: 'a', role: 'p', group: '' } }), SERVER)).toBeUndefined();
    expect(pdPlaceOf(podOf('a', 0, { labels: { group: 'g' }, status: { podIP: '' } }), SERVER)).toBeUndefined();
  });
});
