import type { Finding } from './errors';

/** Environment variables by which a program that runs a stack tells it where to write and how to report. */
export const SynthVariables = {
  /** Folder that apps write to, as stock cdk8s names it. */
  outputFolder: 'CDK8S_OUTDIR',
  /** Folder that the user means, when apps write to a copy of it first. */
  intendedFolder: 'KVASIR_OUTDIR',
  /** File to which each app appends its report as one line of JSON; its findings then do not go to standard error. */
  reportFile: 'KVASIR_SYNTH_REPORT',
} as const;

/** What one app of a stack did, or why it did nothing. */
export interface SynthReport {
  /** The app's folder under the output folder; `.` is the output folder itself. */
  readonly folder: string;
  /** Paths under the app's folder. Empty when there are errors: then nothing was written. */
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
  /** All findings that were not acknowledged. Those that ended the synth have severity `error`. */
  readonly findings: readonly Finding[];
  /** How many findings were acknowledged. */
  readonly acknowledged: number;
}

/** `report` as one line of the report file. */
export function formatSynthReport(report: SynthReport): string {
  return `${JSON.stringify(report)}\n`;
}

/** The reports in a report file's `text`. */
export function parseSynthReports(text: string): readonly SynthReport[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SynthReport);
}
