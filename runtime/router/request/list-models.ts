import type { Identity } from '../admission/identity';
import { mayUse } from '../admission/model-permission';
import { RouterError } from '../errors';
import type { IncomingRequest, RequestHead } from '../request';
import type { ModelName, RouteTable } from '../routing/route-table';

/**
 * Answers `/v1/models` and `/v1/models/{id}` from the routes, with the models that this client may ask for.
 *
 * @throws RouterError `model_not_found`.
 */
export function answerModels(
  { answer, trace }: IncomingRequest,
  head: RequestHead,
  routes: RouteTable,
  identity: Identity,
): void {
  const names = routes.modelNames().filter(({ id }) => mayUse(identity, id));
  const document = head.path === '/v1/models' ? { object: 'list', data: names.map(modelDocument) } : oneModel(head.path, names);
  trace.status = 200;
  answer.whole(200, ['content-type', 'application/json'], Buffer.from(JSON.stringify(document)));
}

function oneModel(path: string, names: readonly ModelName[]): object {
  // Names like `Qwen/Qwen3-8B` have a slash of their own.
  const id = path.slice('/v1/models/'.length);
  const name = names.find((each) => each.id === id);
  if (name === undefined) throw new RouterError('model_not_found', 'no ModelRoute serves this model', 'model');
  return modelDocument(name);
}

function modelDocument({ id, parent }: ModelName): object {
  return { id, object: 'model', created: 0, owned_by: 'kthena', ...(parent === undefined ? {} : { parent }) };
}
