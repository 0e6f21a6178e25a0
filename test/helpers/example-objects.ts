import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta';
import type { ModelRoute } from '../../src/api/model-route';
import type { ModelServer } from '../../src/api/model-server';
import { readManifests } from '../../src/read-manifests';

/** Folder of the recorded fixtures. */
export const FIXTURES = join(__dirname, '../fixtures');

/** Objects of one of Kthena's example files, such as `kthena-router/LLM-Mock.yaml`, in the namespace that kubectl would use. */
export function exampleObjects(...files: readonly string[]): readonly KubeObject[] {
  return files.flatMap((file) =>
    readManifests(readFileSync(join(FIXTURES, 'kthena-examples', file), 'utf8'), file).objects.map(({ object }) => ({
      ...object,
      metadata: { namespace: 'default', ...object.metadata },
    })),
  );
}

/** The routing objects among `objects`. */
export function servingContextOf(objects: readonly KubeObject[]) {
  return {
    modelServers: objects.filter((object): object is ModelServer => object.kind === 'ModelServer'),
    modelRoutes: objects.filter((object): object is ModelRoute => object.kind === 'ModelRoute'),
  };
}
