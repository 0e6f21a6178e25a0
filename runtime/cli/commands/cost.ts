import type { Command } from 'commander';
import { type Bill, billOfObjects } from '../../../src/checks';
import { costText, gpusText } from '../manifests/cost-text';
import { decodeManifests } from '../manifests/decode-manifests';
import { readFolders } from '../manifests/read-folders';
import { processOutput } from '../output';
import { reportLine } from '../report-line';
import { tableLines } from '../table';

/** `kvasir cost`: GPUs and cost per hour of a folder, at fewest and most replicas. */
export function addCostCommand(program: Command): void {
  program
    .command('cost')
    .description('GPUs and cost per hour of manifests, per model, at fewest and most replicas')
    .argument('<folder|files...>', 'manifests: folders are read with everything in them')
    .option('--json', 'print one JSON document')
    .action((paths: string[], flags: { readonly json?: true }) => runCost(paths, flags.json === true));
}

async function runCost(paths: readonly string[], json: boolean): Promise<void> {
  const output = processOutput({ json });
  const { objects, findings } = await readFolders(paths);
  const decoded = decodeManifests(objects);
  const bill = billOfObjects(decoded.checked);
  for (const finding of [...findings, ...decoded.findings]) {
    if (finding.severity === 'error') output.line(reportLine(finding));
  }
  for (const line of billLines(bill)) output.line(line);
  output.document(bill);
}

/** The bill as a table: one row for each model, its workloads below it when it has several, and the sum. */
export function billLines({ lines, models, min, max }: Bill): readonly string[] {
  const rows: (readonly string[])[] = [['MODEL', 'GPUS', 'COST/H', 'ON']];
  for (const model of models) {
    const own = lines.filter((line) => line.model === model.model);
    const classes = [...new Set(own.map(({ accelerator }) => accelerator))].join(', ');
    rows.push([model.model, gpusText(model.min, model.max), costText(model.min, model.max), classes]);
    if (own.length === 1) continue;
    for (const line of own) {
      rows.push([`  ${line.workload}`, gpusText(line.min, line.max), costText(line.min, line.max), line.accelerator]);
    }
  }
  rows.push(['all', gpusText(min, max), costText(min, max), '']);
  const [titles, ...cells] = rows;
  return tableLines(
    titles!.map((title, column) => ({
      title,
      cell: (row: readonly string[]) => row[column]!,
      ...((column === 0 || column === 3) && { isText: true as const }),
    })),
    cells,
  );
}
