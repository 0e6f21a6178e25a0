import { appendFileSync } from 'node:fs';
import { isAbsolute, join, normalize, resolve } from 'node:path';
import { App } from 'cdk8s';
import { type Finding, findingLine, KvasirError } from '../../src/errors';
import { formatSynthReport, type SynthReport, SynthVariables } from '../../src/synth-report';
import { type Bill, billOf } from '../bill';
import { Cluster } from '../cluster';
import { Findings, FindingsError, type SortedFindings } from '../findings';
import type { ImageSettings } from '../images';
import { setStackContext } from '../stack-context';
import { examine } from './examine';
import { FOREIGN_FILE, type SwapResult, swapFolder } from './folder-swap';
import { manifestText } from './manifest-text';

export interface GitOpsAppProps {
  /** Folder of this app under `outdir`, such as an environment's name. @default '.' the output folder itself */
  readonly folder?: string;
  /**
   * Output folder.
   *
   * @default the environment variable CDK8S_OUTDIR, else `dist`
   */
  readonly outdir?: string;
  /** The cluster that the manifests are for. @default Cluster.of({}) */
  readonly cluster?: Cluster;
  /** Where images come from. @default engines' published names, none for Kvasir's own */
  readonly images?: ImageSettings;
  /** Makes every warning that is not acknowledged an error. @default false */
  readonly strict?: boolean;
  /** Takes each line about a warning or note. @default standard error, or the report file of `kvasir synth` */
  readonly report?: (line: string) => void;
}

/**
 * A cdk8s app whose output is a GitOps folder: a folder per chart, a file per object, the same bytes for the same stack. All checks run
 * first and are reported together; then the files are swapped in. Files that synth did not write are never touched.
 *
 * @example
 * const prod = new GitOpsApp({
 *   folder: 'prod',
 *   cluster: Cluster.of({ kubernetes: '1.31' }),
 *   images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
 * });
 * new InferencePlatform(new Chart(prod, 'kvasir-system', { namespace: 'kvasir-system' }), 'platform');
 * prod.synth();
 */
export class GitOpsApp extends App {
  readonly cluster: Cluster;
  readonly images: ImageSettings;
  /** Where findings are acknowledged. */
  readonly findings = new Findings();
  private readonly isStrict: boolean;
  private readonly report: (line: string) => void;
  private readonly folder: string;

  /** @throws KvasirError when `folder` leaves the output folder, or `outdir` contradicts CDK8S_OUTDIR. */
  constructor(props: GitOpsAppProps = {}) {
    super({ outdir: outputFolder(props) });
    this.cluster = props.cluster ?? Cluster.of({});
    this.images = props.images ?? {};
    this.isStrict = props.strict ?? false;
    this.report = props.report ?? reportToStandardError;
    this.folder = props.folder ?? '.';
    setStackContext(this, { cluster: this.cluster, images: this.images });
  }

  /**
   * Checks everything, then writes.
   *
   * @throws FindingsError with all errors; the folder is then as it was.
   */
  override synth(): SwapResult {
    const { rendered, findings } = examine(this, this.findings, this.outdir);
    const errors = findings.open.filter(({ severity }) => severity === 'error' || (this.isStrict && severity === 'warning'));
    for (const finding of findings.open) {
      if (!errors.includes(finding)) this.report(`${finding.severity}: ${findingLine(finding)}`);
    }
    const acknowledged = findings.acknowledged.length;
    if (errors.length > 0) {
      const open = findings.open.map((finding) =>
        errors.includes(finding) ? { ...finding, severity: 'error' as const } : finding,
      );
      this.writeReport({ written: [], removed: [], unchanged: 0, findings: open, acknowledged });
      throw new FindingsError(errors);
    }
    const files = new Map(rendered.map(({ path, object }) => [path, manifestText(object)]));
    const given = new Set(
      findings.acknowledged.flatMap(({ finding }) => (finding.code === FOREIGN_FILE ? [finding.object] : [])),
    );
    const mayOverwrite = new Set(rendered.flatMap(({ place, path }) => (given.has(place) ? [path] : [])));
    const swap = swapFolder(this.outdir, files, mayOverwrite);
    this.writeReport({ ...swap, findings: findings.open, acknowledged });
    return swap;
  }

  private writeReport(report: Omit<SynthReport, 'folder'>): void {
    const file = process.env[SynthVariables.reportFile];
    if (file !== undefined) appendFileSync(file, formatSynthReport({ folder: this.folder, ...report }));
  }

  /** Runs all checks and writes nothing. */
  check(): SortedFindings {
    return examine(this, this.findings, this.outdir).findings;
  }

  /** GPUs and price per hour of all models, at their fewest and most replicas. */
  bill(): Bill {
    return billOf(this);
  }
}

function reportToStandardError(line: string): void {
  if (process.env[SynthVariables.reportFile] === undefined) process.stderr.write(`${line}\n`);
}

function outputFolder(props: GitOpsAppProps): string {
  const { folder = '.', outdir } = props;
  const environment = process.env[SynthVariables.outputFolder];
  const intended = process.env[SynthVariables.intendedFolder] ?? environment;
  if (outdir !== undefined && intended !== undefined && resolve(outdir) !== resolve(intended)) {
    throw new KvasirError({
      code: 'gitops/two-output-folders',
      object: 'GitOpsApp',
      field: 'outdir',
      message: `says ${outdir}, and CDK8S_OUTDIR says ${intended}`,
      remedy: 'leave outdir out, or unset the variable',
    });
  }
  if (isAbsolute(folder) || normalize(folder).split(/[\\/]/)[0] === '..') {
    throw new KvasirError({
      code: 'gitops/folder-outside',
      object: 'GitOpsApp',
      field: 'folder',
      message: `${folder} lies outside of the output folder`,
      remedy: 'give a path relative to it, and set outdir for another place',
    } satisfies Omit<Finding, 'severity'>);
  }
  return join(environment ?? outdir ?? 'dist', folder);
}
