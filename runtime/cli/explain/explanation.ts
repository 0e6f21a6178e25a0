/** What `kvasir explain` answers: lines for people, a document for programs. */
export interface Explanation {
  readonly lines: readonly string[];
  readonly document: object;
}

/** A word at the beginning of a line, and what stands behind it, its further lines below. */
export function section(word: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => `${(index === 0 ? word : '').padEnd(SECTION_WIDTH)}${line}`);
}

/** Columns of the word at the beginning of a line. */
export const SECTION_WIDTH = 10;
