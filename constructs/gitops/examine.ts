import type { IConstruct } from 'constructs';
import type { Findings, SortedFindings } from '../findings';
import { findAll } from './find-all';
import { type RenderedObject, renderObject } from './rendered-object';
import { syncWaves } from './sync-wave';
import { walk } from './walk';

/** What a stack would write, and what is wrong with it. */
export interface Examination {
  readonly rendered: readonly RenderedObject[];
  readonly findings: SortedFindings;
}

/** Renders everything under `root` once and runs all checks. Writes nothing. */
export function examine(root: IConstruct, acknowledged: Findings): Examination {
  const { constructs, objects } = walk(root);
  const waves = syncWaves(objects, constructs);
  const rendered = objects.map((object) => renderObject(object, waves.get(object)));
  return { rendered, findings: acknowledged.sort(findAll(constructs, rendered)) };
}
