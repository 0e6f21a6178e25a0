/** Runs a benchmark as a program: status 0 when every bar was met, 1 when one was not or it could not run. */
export function runBench(main: () => Promise<boolean>): void {
  main().then(
    (isGood) => process.exit(isGood ? 0 : 1),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}
