import type { ApiObject } from 'cdk8s';
import type { KubeObject } from '../../src/api/meta';
import { describeObject } from '../../src/api/meta';
import { acknowledgementAnnotation } from '../../src/checks';
import { PASSED_ON } from '../../src/checks/part-of-cluster';
import type { ImageSettings } from '../images';
import { canonicalize } from './canonical-object';
import { filePath } from './file-name';
import { keepAnnotations } from './keep-when-pruned';
import { mirrorImages } from './mirror-images';
import { SYNC_WAVE } from './sync-wave';

/** An object as it will be written, and where it comes from. */
export interface RenderedObject {
  readonly source: ApiObject;
  /** Path of its file under the output folder. */
  readonly path: string;
  readonly object: KubeObject;
  /** Construct path and `Kind namespace/name`, as findings name it; made when asked for, since most objects have no finding. */
  readonly place: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Serializes `source` once, in canonical form, its images from the mirrors. */
export function renderObject(source: ApiObject, images: ImageSettings): RenderedObject {
  const object = mirrorImages(canonicalize(source.toJson() as Mutable<KubeObject>), images);
  annotate(object, keepAnnotations(object));
  return {
    source,
    path: filePath(source.chart, object.kind, object.metadata.name),
    object,
    get place() {
      return `${source.node.path} (${describeObject(object)})`;
    },
  };
}

/** Writes the wave into an object that does not name one itself; wave 0 is not written. */
export function setWave({ object }: RenderedObject, wave: number): void {
  if (wave === 0 || object.metadata.annotations?.[SYNC_WAVE] !== undefined) return;
  annotate(object as Mutable<KubeObject>, { [SYNC_WAVE]: String(wave) });
}

/** Writes into an object what was acknowledged about it, so that a later look at the files alone knows it too. */
export function setAcknowledged({ object }: RenderedObject, reasons: ReadonlyMap<string, string>): void {
  annotate(object as Mutable<KubeObject>, acknowledgementAnnotation(object, reasons));
}

/** Writes into an object that it was passed on as somebody else wrote it, and names what is not there. */
export function setPassedOn({ object }: RenderedObject): void {
  annotate(object as Mutable<KubeObject>, PASSED_ON);
}

/** Adds annotations, keys in the order in which cdk8s writes them. */
function annotate(object: Mutable<KubeObject>, added: Readonly<Record<string, string>>): void {
  if (Object.keys(added).length === 0) return;
  const annotations = sorted({ ...object.metadata.annotations, ...added });
  object.metadata = sorted({ ...object.metadata, annotations });
}

function sorted<T extends object>(map: T): T {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))) as T;
}
