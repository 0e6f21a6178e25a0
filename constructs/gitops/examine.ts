import type { IConstruct } from 'constructs';
import type { Findings, SortedFindings } from '../findings';
import { stackContext } from '../stack-context';
import { findAll } from './find-all';
import { foreignFiles } from './foreign-files';
import { type RenderedObject, renderObject, setAcknowledged, setWave } from './rendered-object';
import { syncWaves, waveOf } from './sync-wave';
import { walk } from './walk';
import { shareWaves } from './wave-partners';

/** What a stack would write, and what is wrong with it. */
export interface Examination {
  readonly rendered: readonly RenderedObject[];
  readonly findings: SortedFindings;
}

/**
 * Renders everything under `root` once and runs all checks. Writes nothing.
 *
 * @param folder where it would be written. @default what stands there is not looked at
 */
export function examine(root: IConstruct, acknowledged: Findings, folder?: string): Examination {
  const { constructs, objects } = walk(root);
  const { cluster, images } = stackContext(root);
  const rendered = objects.map((object) => renderObject(object, images));
  const byObject = syncWaves(objects, constructs);
  const waves = new Map(rendered.map((entry) => [entry, waveOf(entry.object) ?? byObject.get(entry.source) ?? 0]));
  shareWaves(rendered, waves);
  for (const [entry, wave] of waves) setWave(entry, wave);
  const found = findAll(constructs, rendered, cluster);
  const foreign = folder === undefined ? [] : foreignFiles(folder, rendered);
  const findings = acknowledged.sort([...found, ...foreign]);
  writeAcknowledged(rendered, findings);
  return { rendered, findings };
}

function writeAcknowledged(rendered: readonly RenderedObject[], findings: SortedFindings): void {
  const places = reasonsByPlace(findings);
  if (places.size === 0) return;
  const written = new Set<string>();
  for (const entry of rendered) {
    const { place } = entry;
    const reasons = places.get(place);
    // Two objects of one place are a finding of their own.
    if (reasons === undefined || written.has(place)) continue;
    written.add(place);
    setAcknowledged(entry, reasons);
  }
}

/** Reasons by code of what was acknowledged, for each object or construct that it is about. */
function reasonsByPlace({ acknowledged }: SortedFindings): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const places = new Map<string, Map<string, string>>();
  for (const { finding, reason } of acknowledged) {
    // What is about the folder is not about the object.
    if (finding.code.startsWith('gitops/')) continue;
    const reasons = places.get(finding.object ?? '') ?? new Map<string, string>();
    places.set(finding.object ?? '', reasons.set(finding.code, reason));
  }
  return places;
}
