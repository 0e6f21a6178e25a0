import type { Command } from 'commander';
import type { ExitStatus } from '../exit-status';
import { MODEL_TABLE } from '../get/model-table';
import { POLICY_TABLE } from '../get/policy-table';
import { nowOf, openLook } from '../look/look';
import { addLookOptions, type LookFlags, namespaceOf } from '../look/look-options';
import { type ModelView, modelsIn } from '../look/model-view';
import { modelViews } from '../look/model-views';
import { unknownName } from '../look/named';
import { processOutput } from '../output';
import { failedModels, parseStatusFailures, type StatusFailure } from '../status/status-failure';
import { statusPage } from '../status/status-page';

/** `kvasir status`: each model on half a page. */
export function addStatusCommand(program: Command, exit: ExitStatus): void {
  const command = program
    .command('status')
    .description('each model: its route, its pods, who scales it, what is wrong and what to do')
    .argument('[models...]', 'only these')
    .option(
      '--fail-if <what>',
      'end with 1 when a model has an error, a warning, or a state such as Broken; several with commas between',
      parseStatusFailures,
      [],
    );
  addLookOptions(command).action((names: string[], flags: StatusFlags) => runStatus(names, flags, exit));
}

interface StatusFlags extends LookFlags {
  readonly failIf: readonly StatusFailure[];
}

async function runStatus(names: readonly string[], flags: StatusFlags, exit: ExitStatus): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const namespace = namespaceOf(flags);
  const look = await openLook(flags);
  const all = modelsIn(modelViews(look), namespace);
  for (const name of names) {
    if (!all.some((model) => isNamed(model, name)))
      throw unknownName(
        name,
        all.map((model) => model.name),
        'model',
        namespace,
      );
  }
  const models = names.length === 0 ? all : all.filter((model) => names.some((name) => isNamed(model, name)));
  if (models.length === 0) output.line(`no model in ${look.from}`);
  else output.page(statusPage(models, look, output.pageWidth));
  const failed = failedModels(models, flags.failIf);
  for (const line of failed) output.line(line);
  if (failed.length > 0) exit.code = 1;
  output.document({
    from: look.from,
    at: look.snapshot.at,
    ...(flags.failIf.length > 0 && { failed }),
    models: models.map((model) => ({
      ...MODEL_TABLE.document(model),
      pools: model.servers.flatMap(({ key, pools }) => pools.map((pool) => ({ server: key, ...pool }))),
      scaling: model.policies.map((policy) => POLICY_TABLE.document({ policy, at: nowOf(look) })),
    })),
  });
}

/** By the name that clients use, an adapter's, or a ModelServer's own. */
function isNamed(model: ModelView, name: string): boolean {
  return (
    model.name === name || model.adapters.includes(name) || model.servers.some(({ server }) => server.metadata.name === name)
  );
}
