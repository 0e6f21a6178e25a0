import { setImmediate as nextTurn } from 'node:timers/promises';
import { ObjectStore } from '../../../../runtime/cluster/manifests/object-store';
import { ObjectsView } from '../../../../runtime/cluster/views/objects-view';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { serverFor } from '../../../helpers/workload-objects';

it('changes that come together are told together, in a later turn', async () => {
  const store = new ObjectStore(new VirtualClock(0));
  const view = new ObjectsView(store, () => ({ isSynced: true, ageMs: 0 }));
  const told: string[][] = [];
  view.changed('ModelServer', (keys) => told.push([...keys].sort()));
  store.create(serverFor('a'));
  store.create(serverFor('b'));
  expect(told).toEqual([]);
  await nextTurn();
  await nextTurn();
  expect(told).toEqual([['default/a', 'default/b']]);
  view.close();
});
