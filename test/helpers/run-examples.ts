/** Runs the programs of the examples that are named on the command line, one after the other, in this process. */
async function main(): Promise<void> {
  for (const name of process.argv.slice(2)) await import(`../../examples/${name}/main`);
}

void main();
