import type { ApiObject } from 'cdk8s';
import type { KubeObject } from '../../src/api/meta';
import { describeObject } from '../../src/api/meta';
import { canonicalize } from './canonical-object';
import { filePath } from './file-name';
import { SYNC_WAVE } from './sync-wave';

/** An object as it will be written, and where it comes from. */
export interface RenderedObject {
  readonly source: ApiObject;
  /** Path of its file under the output folder. */
  readonly path: string;
  readonly object: KubeObject;
  /** Construct path and `Kind namespace/name`, as findings name it. */
  readonly place: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Serializes `source` once, in canonical form, with its sync wave unless it carries one. */
export function renderObject(source: ApiObject, wave: number | undefined): RenderedObject {
  const object = canonicalize(source.toJson() as Mutable<KubeObject>);
  if (wave !== undefined && object.metadata.annotations?.[SYNC_WAVE] === undefined) {
    const annotations = sorted({ ...object.metadata.annotations, [SYNC_WAVE]: String(wave) });
    object.metadata = sorted({ ...object.metadata, annotations });
  }
  return {
    source,
    path: filePath(source.chart, object.kind, object.metadata.name),
    object,
    place: `${source.node.path} (${describeObject(object)})`,
  };
}

/** Keys in the order in which cdk8s writes them. */
function sorted<T extends object>(map: T): T {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))) as T;
}
