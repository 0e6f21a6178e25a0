/**
 * Runs the programs of the examples that are named on the command line, one after the other, in this process. With `--reversed` first, every
 * construct hands out its children as if they had been created the other way round.
 */
import { type IConstruct, Node } from 'constructs';

const REVERSED = '--reversed';

async function main([first, ...others]: readonly string[]): Promise<void> {
  if (first === REVERSED) reverseChildren();
  const names = first === REVERSED || first === undefined ? others : [first, ...others];
  for (const name of names) await import(`../../examples/${name}/main`);
}

function reverseChildren(): void {
  const { get } = Object.getOwnPropertyDescriptor(Node.prototype, 'children')!;
  Object.defineProperty(Node.prototype, 'children', {
    get(this: Node): readonly IConstruct[] {
      return [...(get!.call(this) as readonly IConstruct[])].reverse();
    },
  });
}

void main(process.argv.slice(2));
