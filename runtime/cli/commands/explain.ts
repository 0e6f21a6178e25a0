import { Argument, type Command, InvalidArgumentError } from 'commander';
import { nearestName } from '../../../src/api/nearest-name';
import { KvasirError } from '../../../src/errors';
import { explainAutoscaling } from '../explain/explain-autoscaling';
import { explainPod } from '../explain/explain-pod';
import { explainQueue } from '../explain/explain-queue';
import { explainRequest, type RequestFlags } from '../explain/explain-request';
import { explainRoute } from '../explain/explain-route';
import { explainSchedule } from '../explain/explain-schedule';
import { type Explanation, SECTION_WIDTH } from '../explain/explanation';
import { type Look, openLook } from '../look/look';
import { addLookOptions, type LookFlags, namespaceOf } from '../look/look-options';
import { wrapped } from '../look/texts';
import { processOutput } from '../output';

interface ExplainFlags extends LookFlags, RequestFlags {}

interface Asked {
  readonly look: Look;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly flags: ExplainFlags;
}

/** What can be explained, and whether it needs a name. */
const SUBJECTS: Readonly<Record<string, { readonly needs?: string; explain(asked: Asked): Explanation | Promise<Explanation> }>> =
  {
    route: { needs: 'a ModelRoute', explain: ({ look, name, namespace }) => explainRoute(look, name!, namespace) },
    request: { explain: ({ look, flags }) => explainRequest(look, flags) },
    autoscaling: {
      needs: 'an AutoscalingPolicy',
      explain: ({ look, name, namespace }) => explainAutoscaling(look, name!, namespace),
    },
    pod: { needs: 'a pod', explain: ({ look, name, namespace }) => explainPod(look, name!, namespace) },
    schedule: { explain: ({ look, name }) => explainSchedule(look, name) },
    queue: { explain: ({ look }) => explainQueue(look) },
  };

/** `kvasir explain`: why something is, or would be, as it is. */
export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description('why a request goes where it goes, a policy has its replicas, a pod gets what it gets')
    .addArgument(new Argument('<what>', Object.keys(SUBJECTS).join(', ')).argParser(subjectNamed))
    .argument('[name]', 'name of the route, policy or pod; for schedule a request id, or none for the last decisions');
  addLookOptions(command)
    .option('--model <name>', 'of a request: the model that it asks for')
    .option('--path <path>', 'of a request: its path', undefined)
    .option(
      '--header <header>',
      'of a request: name: value; may be given several times',
      (header: string, before: readonly string[]) => [...before, header],
      [],
    )
    .option('--body <json>', 'of a request: its body, or @ and a file')
    .action((what: string, name: string | undefined, flags: ExplainFlags) => runExplain(what, name, flags));
}

async function runExplain(what: string, name: string | undefined, flags: ExplainFlags): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const { needs, explain } = SUBJECTS[what]!;
  if (needs !== undefined && name === undefined) {
    throw new KvasirError({
      code: 'cli/missing-name',
      field: `explain ${what}`,
      message: `it needs the name of ${needs}`,
      remedy: `kvasir get ${what === 'autoscaling' ? 'policies' : `${what}s`} lists them`,
    });
  }
  const look = await openLook(flags);
  const { lines, document } = await explain({ look, name, namespace: namespaceOf(flags), flags });
  output.page(lines.flatMap((line) => wrapped(line, SECTION_WIDTH + 2, output.pageWidth)));
  output.document(document);
}

/** @throws InvalidArgumentError, which commander prints. */
function subjectNamed(asked: string): string {
  const subjects = Object.keys(SUBJECTS);
  if (subjects.includes(asked)) return asked;
  const nearest = nearestName(asked, subjects);
  throw new InvalidArgumentError(nearest === undefined ? `There are ${subjects.join(', ')}.` : `Did you mean ${nearest}?`);
}
