import type { ManifestObject } from '../../../src/read-manifests';

/** An object of the program, with the manifest that it comes from. */
export interface MigratedObject {
  readonly manifest: ManifestObject;
  /** Undefined where the manifest says none. */
  readonly namespace: string | undefined;
}
