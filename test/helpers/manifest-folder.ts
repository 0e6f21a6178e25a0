import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ManifestCluster, type ManifestClusterOptions, openManifestCluster } from '../../runtime/cluster/manifests';
import { VirtualClock } from '../../runtime/lib/virtual-clock';
import { type KubeObject, keyOf } from '../../src/api/meta';

export const EPOCH_MS = Date.parse('2026-11-30T12:00:00Z');

/** A folder of manifests, one file per object, and the cluster made of it. */
export class ManifestFolder {
  readonly clock = new VirtualClock(EPOCH_MS);
  readonly path = mkdtempSync(join(tmpdir(), 'kvasir-manifests-'));
  private opened: ManifestCluster | undefined;

  constructor(objects: readonly KubeObject[] = []) {
    for (const object of objects) this.write(object);
  }

  async open(options: Partial<ManifestClusterOptions> = {}): Promise<ManifestCluster> {
    this.opened = await openManifestCluster({ paths: [this.path], clock: this.clock, ...options });
    return this.opened;
  }

  fileOf(object: KubeObject): string {
    return join(this.path, `${object.kind}.${keyOf(object).replace('/', '.')}.json`);
  }

  write(object: KubeObject): void {
    writeFileSync(this.fileOf(object), JSON.stringify(object, null, 2));
  }

  /** Writes objects and lets the cluster see it. */
  async put(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) this.write(object);
    await this.opened?.refresh();
    await turns();
  }

  async remove(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) rmSync(this.fileOf(object));
    await this.opened?.refresh();
    await turns();
  }

  async close(): Promise<void> {
    await this.opened?.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Lets all that needs no time happen. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}
