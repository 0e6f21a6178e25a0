import pino, { type DestinationStream, type Logger } from 'pino';

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
