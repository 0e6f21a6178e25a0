import { ObjectStore } from '../../../../runtime/cluster/manifests/object-store';
import { SecretsView } from '../../../../runtime/cluster/manifests/secrets-view';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { KubeObject } from '../../../../src/api/meta';

it('values of a Secret are decoded from base64, and plain ones win', () => {
  const store = new ObjectStore(new VirtualClock());
  store.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace: 'team', labels: { use: 'api-keys' } },
    data: { a: 'b25l', b: 'AP8=' },
    stringData: { a: 'two', c: 'drei ü' },
  } as KubeObject);
  const { a, b, c } = new SecretsView(store).byLabel('use', 'api-keys').get('team/keys')!;
  expect([a?.toString(), [...b!], c?.toString('utf8')]).toEqual(['two', [0, 255], 'drei ü']);
  expect(new SecretsView(store).byLabel('use', 'other').size).toBe(0);
});
