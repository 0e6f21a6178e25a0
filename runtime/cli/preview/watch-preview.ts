import { setTimeout as pause } from 'node:timers/promises';
import type { Output } from '../output';
import { liveTable, plainLine } from './live-table';
import type { RunningPreview } from './preview';

/** Real time between two looks at the platform. */
const TERMINAL_INTERVAL_MS = 250;
const PLAIN_INTERVAL_MS = 5_000;

/** Shows the live table until `signal` aborts: rewritten in place in a terminal, as plain lines now and then elsewhere. */
export async function watchPreview(preview: RunningPreview, output: Output, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const rows = preview.rows();
    if (output.isTerminal) output.block(liveTable(rows));
    else for (const row of rows) output.line(plainLine(row));
    await pause(output.isTerminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}
