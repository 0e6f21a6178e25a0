import { Argument, type Command, InvalidArgumentError } from 'commander';
import { nearestName } from '../../../src/api/nearest-name';
import { KvasirError } from '../../../src/errors';
import type { Kind } from '../../cluster/objects';
import { MODEL_TABLE } from '../get/model-table';
import { podRows, podTable } from '../get/pod-table';
import { POLICY_TABLE } from '../get/policy-table';
import { PROVIDER_TABLE, providerRow } from '../get/provider-table';
import { ROUTE_TABLE, routeRow } from '../get/route-table';
import type { TableOf } from '../get/table-of';
import { type Look, nowOf, objectsOf, openLook } from '../look/look';
import { addLookOptions, type LookFlags, namespaceOf } from '../look/look-options';
import { modelViews, routeTableOf } from '../look/model-views';
import { unknownName } from '../look/named';
import { policyViews } from '../look/policy-view';
import { processOutput } from '../output';
import { tableLines } from '../table';

interface GetFlags extends LookFlags {
  readonly wide?: true;
}

/** One kind of thing that can be listed, with its rows from a look. */
interface Listing {
  /** How else people call it. */
  readonly aliases: readonly string[];
  /** What must be seen for a list that is whole. */
  readonly needs: Kind;
  /** Draws the table of the rows that are wanted. */
  show(
    look: Look,
    wanted: Wanted,
    what: string,
    isWide: boolean,
  ): { readonly lines: readonly string[]; readonly documents: readonly object[] };
}

interface Wanted {
  readonly namespace: string | undefined;
  /** Names; none: all. */
  readonly names: readonly string[];
}

interface Place {
  readonly name: string;
  readonly namespace?: string;
}

const LISTINGS: Readonly<Record<string, Listing>> = {
  models: {
    aliases: ['model'],
    needs: 'ModelServer',
    show: listing(MODEL_TABLE, modelViews, (model) => model),
  },
  pods: {
    aliases: ['pod', 'po'],
    needs: 'Pod',
    show: (look, ...rest) => listing(podTable(look.endpoints !== undefined), podRows, ({ pod }) => pod.metadata)(look, ...rest),
  },
  routes: {
    aliases: ['route', 'modelroute', 'modelroutes'],
    needs: 'ModelRoute',
    show: listing(
      ROUTE_TABLE,
      (look) => {
        const table = routeTableOf(look);
        return objectsOf(look, 'ModelRoute').map((route) => routeRow(route, table, nowOf(look)));
      },
      ({ route }) => route.metadata,
    ),
  },
  policies: {
    aliases: ['policy', 'autoscalingpolicy', 'autoscalingpolicies'],
    needs: 'AutoscalingPolicy',
    show: listing(
      POLICY_TABLE,
      (look) => policyViews(look).map((policy) => ({ policy, at: nowOf(look) })),
      ({ policy }) => policy.object.metadata,
    ),
  },
  providers: {
    aliases: ['provider', 'externalmodelprovider', 'externalmodelproviders'],
    needs: 'ExternalModelProvider',
    show: listing(
      PROVIDER_TABLE,
      (look) => objectsOf(look, 'ExternalModelProvider').map((provider) => providerRow(provider, look)),
      ({ provider }) => provider.metadata,
    ),
  },
};

/** `kvasir get`: lists, as kubectl users expect them. */
export function addGetCommand(program: Command): void {
  const command = program
    .command('get')
    .description('list models, pods, routes, policies or providers')
    .addArgument(new Argument('<what>', Object.keys(LISTINGS).join(', ')).argParser(kindNamed))
    .argument('[names...]', 'only these');
  addLookOptions(command)
    .option('--wide', 'show every column')
    .action((what: string, names: string[], flags: GetFlags) => runGet(what, names, flags));
}

async function runGet(what: string, names: readonly string[], flags: GetFlags): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const namespace = namespaceOf(flags);
  const { needs, show } = LISTINGS[what]!;
  const look = await openLook(flags);
  requireSeen(look, needs, what);
  const { lines, documents } = show(look, { namespace, names }, what, flags.wide === true);
  if (documents.length === 0)
    output.line(`no ${what} in ${namespace === undefined ? look.from : `namespace ${namespace} of ${look.from}`}`);
  else output.page(lines);
  output.document({ from: look.from, at: look.snapshot.at, [what]: documents });
}

/** @throws InvalidArgumentError, which commander prints. */
function kindNamed(asked: string): string {
  const known = Object.entries(LISTINGS).flatMap(([name, { aliases }]) => [name, ...aliases].map((alias) => ({ alias, name })));
  const found = known.find(({ alias }) => alias === asked.toLowerCase());
  if (found !== undefined) return found.name;
  const nearest = nearestName(asked, Object.keys(LISTINGS));
  throw new InvalidArgumentError(
    nearest === undefined ? `There are ${Object.keys(LISTINGS).join(', ')}.` : `Did you mean ${nearest}?`,
  );
}

/** A router lists no policies: an empty table would say that there are none. */
function requireSeen({ snapshot, from }: Look, kind: Kind, what: string): void {
  if (snapshot.kinds.includes(kind)) return;
  throw new KvasirError({
    code: 'cli/not-seen-from-here',
    field: what,
    message: `${from} does not see ${kind} objects`,
    remedy: 'give --cluster, or a preview',
  });
}

function listing<Row>(
  { columns, document }: TableOf<Row>,
  rowsOf: (look: Look) => readonly Row[],
  placeOf: (row: Row) => Place,
): Listing['show'] {
  return (look, { namespace, names }, what, isWide) => {
    const rows = rowsOf(look).filter((row) => namespace === undefined || (placeOf(row).namespace ?? 'default') === namespace);
    const isNamed = (row: Row, name: string): boolean => {
      const place = placeOf(row);
      return place.name === name || `${place.namespace ?? 'default'}/${place.name}` === name;
    };
    for (const name of names) {
      if (rows.some((row) => isNamed(row, name))) continue;
      throw unknownName(
        name,
        rows.map((row) => placeOf(row).name),
        what,
        namespace,
      );
    }
    const shown = names.length === 0 ? rows : rows.filter((row) => names.some((name) => isNamed(row, name)));
    const visible = columns.filter(
      ({ title, isWide: isOnlyWide }) => (isWide || isOnlyWide !== true) && !(title === 'NAMESPACE' && namespace !== undefined),
    );
    return { lines: tableLines(visible, shown, 3), documents: shown.map(document) };
  };
}
