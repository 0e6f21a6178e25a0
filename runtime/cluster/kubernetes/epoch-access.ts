import type { KubeObject } from '../../../src/api/meta';
import { Annotations } from '../../../src/labels';
import type { Epochs, TargetEpoch } from '../epochs';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { TargetRef } from '../scaling';
import type { ApiRequests } from './api-client';
import type { Discovery } from './discovery';
import { readOutcomeOf, writeOutcomeOf } from './outcome-of';
import { scalablePath } from './scalable-path';

/** Marks of leaders over the API, as an annotation. */
export class EpochAccess implements Epochs {
  constructor(
    private readonly client: ApiRequests,
    private readonly discovery: Discovery,
  ) {}

  async read(target: TargetRef): Promise<ReadOutcome<TargetEpoch>> {
    const path = await scalablePath(this.discovery, target);
    if (path.kind !== 'found') return path;
    return readOutcomeOf(await this.client.request({ method: 'GET', path: path.value }), (body) => {
      const { uid, resourceVersion, annotations } = (body as KubeObject).metadata;
      const epoch = annotations?.[Annotations.scalerEpoch];
      return { uid: uid!, version: resourceVersion!, ...(epoch === undefined ? {} : { epoch }) };
    });
  }

  async stamp(target: TargetRef, epoch: string, version: string): Promise<WriteOutcome> {
    const path = await scalablePath(this.discovery, target, ...stampedAt(target));
    if (path.kind !== 'found') return path;
    const answer = await this.client.request({
      method: 'PATCH',
      path: path.value,
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: version, annotations: { [Annotations.scalerEpoch]: epoch } } },
    });
    return writeOutcomeOf(answer, [version]);
  }
}

/**
 * Who may patch a Deployment or StatefulSet may run anything as anybody in its namespace. Their status takes annotations too and nothing of
 * their spec, so that the right on it is enough. The status of kinds with a definition takes no annotations.
 */
function stampedAt({ apiVersion }: TargetRef): readonly string[] {
  return apiVersion.startsWith('apps/') ? ['status'] : [];
}
