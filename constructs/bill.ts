import type { IConstruct } from 'constructs';
import { decodeObject } from '../src/api/decode-object';
import { apiKindOf } from '../src/api/kinds';
import type { KubeObject } from '../src/api/meta';
import { type Bill, billOfObjects } from '../src/checks/cost';
import { renderObject } from './gitops/rendered-object';
import { walk } from './gitops/walk';
import { stackContext } from './stack-context';

export type { Bill } from '../src/checks/cost';

/**
 * The bill of everything under `root`, by the objects that it will write: overrides of pods, several pods per replica, roles and the
 * bounds of policies included. Lines carry the path of the construct that made the workload.
 */
export function billOf(root: IConstruct): Bill {
  const { images } = stackContext(root);
  const rendered = walk(root).objects.map((source) => renderObject(source, images));
  const paths = new Map(rendered.map((entry) => [entry.path, ownerPath(entry.source)]));
  const bill = billOfObjects(rendered.map(({ object, path }) => ({ object: decoded(object), file: path })));
  return { ...bill, lines: bill.lines.map((line) => ({ ...line, path: paths.get(line.file ?? '') ?? line.path })) };
}

/** An object that is not valid counts as far as it can be read. */
function decoded(object: KubeObject): KubeObject {
  if (apiKindOf(object) === undefined) return object;
  const outcome = decodeObject(object);
  return outcome.kind === 'valid' ? outcome.value : object;
}

/** An object is the `Resource` of the construct that people wrote. */
function ownerPath({ node }: IConstruct): string {
  return node.id === 'Resource' && node.scope !== undefined ? node.scope.node.path : node.path;
}
