import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Definition } from '../../constructs/testing';
import { readManifests } from '../../src/read-manifests';
import { FIXTURES } from './example-objects';

/** A recorded CustomResourceDefinition, such as `argo/application-crd.yaml`. */
export function fixtureDefinition(file: string): Definition {
  const [found] = readManifests(readFileSync(join(FIXTURES, 'crds', file), 'utf8'), file).objects;
  return found!.object as unknown as Definition;
}
