import type { Command } from 'commander';
import { MODEL_TABLE } from '../get/model-table';
import { POLICY_TABLE } from '../get/policy-table';
import { nowOf, openLook } from '../look/look';
import { addLookOptions, type LookFlags, namespaceOf } from '../look/look-options';
import { type ModelView, modelsIn } from '../look/model-view';
import { modelViews } from '../look/model-views';
import { unknownName } from '../look/named';
import { processOutput } from '../output';
import { statusPage } from '../status/status-page';

/** `kvasir status`: each model on half a page. */
export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('each model: its route, its pods, who scales it, what is wrong and what to do')
    .argument('[models...]', 'only these');
  addLookOptions(command).action((names: string[], flags: LookFlags) => runStatus(names, flags));
}

async function runStatus(names: readonly string[], flags: LookFlags): Promise<void> {
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
  output.document({
    from: look.from,
    at: look.snapshot.at,
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
