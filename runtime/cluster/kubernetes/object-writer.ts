import type { KubeObject } from '../../../src/api/meta';
import type { Pods, Status } from '../cluster';
import { type ObjectSource, refOf } from '../object-source';
import type { Kind, KindMap } from '../objects';
import type { WriteOutcome } from '../outcome';
import type { ApiAnswer, ApiRequests } from './api-client';
import { readOutcomeOf, writeOutcomeOf } from './outcome-of';
import { OwnWrites } from './own-writes';
import { type Resource, resourcePath, watchedResource } from './watched-resources';

/**
 * Status of objects and annotations of pods. A status carries the version that was seen when it was decided, so that a leader that was
 * paused meets a conflict; an annotation stands for itself and names only the pod's uid.
 */
export class ObjectWriter implements Status, Pods {
  private readonly own = new OwnWrites();

  constructor(
    private readonly client: ApiRequests,
    private readonly source: ObjectSource,
  ) {}

  async report<K extends Kind>(kind: K, object: KindMap[K], status: object): Promise<WriteOutcome> {
    const { namespace = 'default', name, uid = '', resourceVersion } = object.metadata;
    const resource = watchedResource(kind);
    const version = this.own.current(uid, resourceVersion);
    const answer = await this.client.request({
      method: 'PATCH',
      path: resourcePath(resource, namespace, name, 'status'),
      contentType: 'application/json-patch+json',
      body: [
        { op: 'replace', path: '/metadata/resourceVersion', value: version },
        { op: 'add', path: '/status', value: status },
      ],
    });
    const outcome = await this.settled(answer, resource, { namespace, name, uid }, [version]);
    if ('version' in outcome) this.own.note(uid, resourceVersion, outcome.version);
    return outcome;
  }

  async mark(
    namespace: string,
    name: string,
    uid: string,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<WriteOutcome> {
    const resource = watchedResource('Pod');
    const seen = this.source.get(refOf({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } }))?.metadata;
    const before = seen?.uid === uid ? seen.resourceVersion : undefined;
    const answer = await this.client.request({
      method: 'PATCH',
      path: resourcePath(resource, namespace, name),
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, annotations } },
    });
    const outcome = await this.settled(answer, resource, { namespace, name, uid }, [before, this.own.current(uid, before)]);
    if ('version' in outcome) this.own.note(uid, before, outcome.version);
    return outcome;
  }

  /** A conflict with another object of the same name is no conflict: the object is gone. */
  private async settled(
    answer: ApiAnswer,
    resource: Resource,
    { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
    before: readonly (string | undefined)[],
  ): Promise<WriteOutcome> {
    const outcome = writeOutcomeOf(answer, before);
    if (outcome.kind !== 'conflict' && outcome.kind !== 'invalid') return outcome;
    const path = resourcePath(resource, namespace, name);
    const current = readOutcomeOf(await this.client.request({ method: 'GET', path }), (body) => body as KubeObject);
    const isAnother = current.kind === 'gone' || (current.kind === 'found' && current.value.metadata.uid !== uid);
    return isAnother ? { kind: 'gone' } : outcome;
  }
}
