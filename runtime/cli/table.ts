/** One column of a table. Numbers stand to the right, text to the left. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly isText?: true;
}

/** A table as lines: the titles and one line for each row, columns as wide as their widest cell. @param gap blanks between columns. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[], gap = 2): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  return cells.map((line) =>
    line
      .map((text, column) => (columns[column]!.isText ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}
