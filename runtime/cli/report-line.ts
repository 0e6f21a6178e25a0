import { type Finding, findingLine } from '../../src/errors';

/** A finding as the command prints it: its severity first. */
export function reportLine(finding: Finding): string {
  return `${finding.severity}: ${findingLine(finding)}`;
}
