import { ObjectStore } from '../../../../runtime/cluster/manifests/object-store';
import { SecretsView } from '../../../../runtime/cluster/views/secrets-view';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { KubeObject } from '../../../../src/api/meta';
import { turns } from '../../../helpers/manifest-folder';

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

it('Secrets that change together are told of once, in a later turn, and not after the end', async () => {
  const store = new ObjectStore(new VirtualClock());
  const secret = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'team' } });
  let told = 0;
  const end = new SecretsView(store).changed(() => {
    told += 1;
  });
  const a = store.create(secret('a'));
  store.create(secret('b'));
  store.create({ ...secret('c'), kind: 'ConfigMap' });
  expect(told).toBe(0);
  await turns(2);
  expect(told).toBe(1);
  store.create({ ...secret('d'), kind: 'ConfigMap' });
  await turns(2);
  expect(told).toBe(1);
  store.remove(a);
  end();
  await turns(2);
  expect(told).toBe(1);
});
