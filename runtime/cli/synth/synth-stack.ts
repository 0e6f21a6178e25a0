import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { KvasirError } from '../../../src/errors';
import { parseSynthReports, type SynthReport, SynthVariables } from '../../../src/synth-report';
import { runStackCommand } from '../run-stack';
import type { StackProgram } from './stack-program';
import { Stage, type StageResult } from './stage';

/** How running a stack ended. In the second case the output folder is as it was. */
export type SynthOutcome =
  | {
      readonly kind: 'written';
      readonly apps: readonly SynthReport[];
      readonly changes: StageResult;
      readonly said: readonly string[];
    }
  | {
      readonly kind: 'failed';
      readonly apps: readonly SynthReport[];
      readonly said: readonly string[];
      readonly why: KvasirError;
    };

/**
 * Runs the stack of the project in `folder` over a copy of its output folder, and brings the copy in when all of it succeeded: a stack of
 * several apps changes nothing when the last one fails.
 */
export async function synthStack(folder: string, program: StackProgram, interrupted: AbortSignal): Promise<SynthOutcome> {
  const output = resolve(folder, program.output);
  const stage = new Stage(output);
  const reports = mkdtempSync(join(tmpdir(), 'kvasir-synth-'));
  const reportFile = join(reports, 'reports');
  try {
    const { code, text } = await runStackCommand(
      program.app,
      folder,
      {
        [SynthVariables.outputFolder]: stage.path,
        [SynthVariables.intendedFolder]: output,
        [SynthVariables.reportFile]: reportFile,
      },
      interrupted,
    );
    const apps = readReports(reportFile).map((report) => withFolder(report, stage.path, program.output));
    const said = linesOf(withoutReported(text, apps).replaceAll(stage.path, program.output));
    const why = failure(program, code, apps, stage, interrupted);
    return why === undefined ? { kind: 'written', apps, changes: stage.apply(), said } : { kind: 'failed', apps, said, why };
  } finally {
    stage.dispose();
    rmSync(reports, { recursive: true, force: true });
  }
}

function failure(
  { app, output }: StackProgram,
  code: number | null,
  apps: readonly SynthReport[],
  stage: Stage,
  interrupted: AbortSignal,
): KvasirError | undefined {
  const errors = apps.flatMap(({ findings }) => findings).filter(({ severity }) => severity === 'error').length;
  const unchanged = `${output} is as it was`;
  if (interrupted.aborted) return failed(app, `was interrupted; ${unchanged}`, 'run it again');
  if (errors > 0)
    return failed(app, `${errors === 1 ? 'one error' : `${errors} errors`}; ${unchanged}`, 'mend what the lines above name');
  if (code !== 0) return failed(app, `ended with ${code ?? 'a signal'}; ${unchanged}`, 'mend what it says above');
  if (apps.length > 0 || !stage.isEmpty) return undefined;
  return failed(app, `wrote nothing to ${output}`, 'call app.synth() at its end, and leave outdir out or make it the same');
}

function failed(app: string, message: string, remedy: string): KvasirError {
  return new KvasirError({ code: 'cli/synth-failed', object: app, message, remedy });
}

function readReports(file: string): readonly SynthReport[] {
  try {
    return parseSynthReports(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Findings name files of the stage, which people do not know. */
function withFolder(report: SynthReport, stage: string, output: string): SynthReport {
  return JSON.parse(JSON.stringify(report).replaceAll(JSON.stringify(stage).slice(1, -1), JSON.stringify(output).slice(1, -1)));
}

/** As Node prints an error that nobody caught: place, source line, mark, error, stack, version. */
const UNCAUGHT_FINDINGS = /(?:^|\n)[^\n]*:\d+\n[^\n]*\n\s*\^+\s*\n\s*\n\[?(?:Uncaught )?FindingsError: [\s\S]*$/;

/** `text` without the error that repeats the findings of `apps`. */
function withoutReported(text: string, apps: readonly SynthReport[]): string {
  return apps.some(({ findings }) => findings.some(({ severity }) => severity === 'error'))
    ? text.replace(UNCAUGHT_FINDINGS, '')
    : text;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}
