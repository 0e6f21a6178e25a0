/** Where a command writes: its result to standard output, everything else that people read to standard error. */
export interface Output {
  /** One line for people. */
  line(text: string): void;
  /** The command's result for programs. Called at most once. */
  document(value: object): void;
  /** Lines that people asked for and may pipe elsewhere: on standard output, and not written where a document is. */
  page(lines: readonly string[]): void;
  /** Columns of the terminal that pages are shown in; undefined where they go elsewhere. */
  readonly pageWidth: number | undefined;
  /** Whether lines may be rewritten in place. */
  readonly isTerminal: boolean;
  /** Rewrites the block that the last call wrote; on a plain stream writes nothing. */
  block(lines: readonly string[]): void;
}

/** Output of this process. With `json` false, documents are not written. */
export function processOutput(options: { readonly json: boolean }): Output {
  const { stdout, stderr } = process;
  let blockHeight = 0;
  const clearBlock = (): void => {
    if (blockHeight > 0) stderr.write(`\u001b[${blockHeight}A\u001b[0J`);
    blockHeight = 0;
  };
  return {
    isTerminal: stderr.isTTY === true,
    line(text) {
      clearBlock();
      stderr.write(`${text}\n`);
    },
    block(lines) {
      if (stderr.isTTY !== true) return;
      clearBlock();
      const width = Math.max(20, stderr.columns ?? 120);
      stderr.write(lines.map((line) => `${line.slice(0, width - 1)}\n`).join(''));
      blockHeight = lines.length;
    },
    pageWidth: stdout.isTTY === true ? Math.max(40, stdout.columns ?? 80) : undefined,
    page(lines) {
      if (!options.json) stdout.write(lines.map((line) => `${line}\n`).join(''));
    },
    document(value) {
      if (options.json) stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    },
  };
}
