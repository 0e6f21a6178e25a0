import pino, { type DestinationStream, type Logger } from 'pino';
import { type Finding, findingLine } from '../../src/errors';

export type { Logger } from 'pino';

/**
 * A log of one image, one JSON object a line, on standard error so that standard output stays for documents and access logs.
 *
 * @param component name of the image or part, on every line.
 */
export function createLogger(component: string, level = 'info', destination: DestinationStream = pino.destination(2)): Logger {
  return pino({ base: { component }, level, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** A log that drops everything. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

/** Writes each finding as one log line, an error as an error and the rest as warnings. */
export function logFindings(log: Logger): (finding: Finding) => void {
  return (finding) => log[finding.severity === 'error' ? 'error' : 'warn']({ code: finding.code }, findingLine(finding));
}
