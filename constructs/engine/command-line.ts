import type { EngineTable } from '../../src/catalog/engines/engine';
import { findFlag, nearestFlag } from '../../src/catalog/engines/flag';
import type { Finding } from '../../src/errors';

/** Value of a typed flag: `true` writes the bare switch, `false` its `--no-` twin, undefined nothing. */
export type FlagValue = string | number | boolean | undefined;

/** Writes flags as separate words, in the order given. */
export function toWords(flags: Readonly<Record<string, FlagValue>>): string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (value === true) return [name];
    if (value === false) return [name.replace(/^--/, '--no-')];
    return [name, String(value)];
  });
}

/** Finds flags that the engine's version does not know, flags that are given twice, and a version without a table of its own. */
export function checkCommandLine(
  engine: string,
  version: string,
  table: EngineTable,
  args: readonly string[],
): readonly Finding[] {
  const findings: Finding[] = [];
  if (!table.isExact) {
    findings.push({
      code: 'engine/no-flag-table',
      severity: 'info',
      field: 'engine',
      message: `the catalogue has no flags of ${engine} ${version}; those of ${table.version} are used`,
      remedy: 'nothing to do unless a flag below is wrongly called unknown',
    });
  }
  const seen = new Set<string>();
  for (const word of args) {
    if (!/^--?[A-Za-z]/.test(word)) continue;
    const written = word.split('=')[0]!;
    const found = findFlag(table.flags, written);
    if (found === undefined) {
      const nearest = nearestFlag(table.flags, written);
      findings.push({
        code: 'engine/unknown-flag',
        severity: 'warning',
        field: 'engine.extraArgs',
        message: `${engine} ${table.version} has no flag ${written}`,
        remedy: nearest === undefined ? 'remove it' : `write ${nearest.name}, the nearest that it has`,
      });
    } else if (seen.has(found.flag.name) && !written.includes('.')) {
      findings.push({
        code: 'engine/flag-twice',
        severity: 'error',
        field: 'engine.extraArgs',
        message: `${written} is already set by a named option`,
        remedy: 'set it in one place',
      });
    }
    if (found !== undefined) seen.add(found.flag.name);
  }
  return findings;
}
