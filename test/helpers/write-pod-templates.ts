/**
 * Writes `test/fixtures/pod-templates/` from the examples: `npx tsx test/helpers/write-pod-templates.ts`. Run it after a change that is meant to
 * change pods, which only a minor or major release may bring.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { examplePodTemplates } from './example-pod-templates';

async function main(): Promise<void> {
  const outdir = mkdtempSync(join(tmpdir(), 'kvasir-examples-'));
  const folder = join(__dirname, '../fixtures/pod-templates');
  const texts = await examplePodTemplates(outdir);
  rmSync(outdir, { recursive: true });
  for (const [example, text] of Object.entries(texts)) writeFileSync(join(folder, `${example}.yaml`), text);
}

void main();
