import { FakePodRunner } from '../../helpers/fake-pod-runner';
import { ManifestFolder, turns } from '../../helpers/manifest-folder';
import { describeClusterSource } from './cluster-suite';

describeClusterSource({
  name: 'a folder of manifests',
  async open(objects) {
    const folder = new ManifestFolder(objects);
    const cluster = await folder.open({ runner: new FakePodRunner() });
    await cluster.settled();
    return {
      cluster,
      clock: folder.clock,
      settled: () => turns(),
      put: (...changed) => folder.put(...changed),
      remove: (...gone) => folder.remove(...gone),
      close: () => folder.close(),
    };
  },
  cannot: {
    'marks a target with the term of a leader, by which earlier versions of it conflict':
      'nobody else writes to the objects of this process, so that there is no election',
    'a write without permission is forbidden': 'a folder knows no identities and no permissions',
    'reads and writes of a source that cannot be reached are unavailable':
      'the objects are in this process, which always reaches them',
  },
});
