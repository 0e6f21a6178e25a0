import type { FaceContext } from '../face-context';
import { type Exchange, type Handler, sendJson, sendText } from '../http/exchange';
import { hexId } from '../ids';
import type { VllmDialect } from './dialect';
import { readBody } from './validation';
import { modelNotFound, sendError, VllmError } from './vllm-error';

/** What a request's `model` stands for. */
export interface ServedModel {
  /** The name that the answer repeats. */
  readonly name: string;
  readonly adapter?: string;
}

/** A request without a model gets the base model. @throws VllmError 404 for a name that is not served. */
export function resolveModel(context: FaceContext, dialect: VllmDialect, model: unknown): ServedModel {
  const names = context.plan.servedModelNames;
  if (model === undefined || model === null || model === '') return { name: names[0]! };
  if (typeof model === 'string') {
    if (names.includes(model)) return { name: model };
    if (context.adapters.has(model)) return { name: model, adapter: model };
  }
  throw modelNotFound(String(model), names, dialect.isRecent);
}

export function listModels(context: FaceContext): Handler {
  return ({ response }) => {
    const { plan, adapters } = context;
    const created = Math.floor(context.clock.now() / 1000);
    const base = plan.servedModelNames.map((id) =>
      card(context, created, { id, root: plan.model, parent: null, max_model_len: context.core.maxTokens }),
    );
    const loras = [...adapters].map(([id, root]) =>
      card(context, created, { id, root, parent: plan.servedModelNames[0]!, max_model_len: null }),
    );
    sendJson(response, 200, { object: 'list', data: [...base, ...loras] });
  };
}

function card(
  context: FaceContext,
  created: number,
  {
    id,
    ...rest
  }: { readonly id: string; readonly root: string; readonly parent: string | null; readonly max_model_len: number | null },
): object {
  const permission = {
    id: `modelperm-${hexId(context.random, 16)}`,
    object: 'model_permission',
    created,
    allow_create_engine: false,
    allow_sampling: true,
    allow_logprobs: true,
    allow_search_indices: false,
    allow_view: true,
    allow_fine_tuning: false,
    organization: '*',
    group: null,
    is_blocking: false,
  };
  return { id, object: 'model', created, owned_by: 'vllm', ...rest, permission: [permission] };
}

export function loadAdapter(context: FaceContext, dialect: VllmDialect): Handler {
  return answerErrors(dialect, ({ request, response, body }) => {
    const fields = readBody(body, request.headers, dialect, {
      required: ['lora_name', 'lora_path'],
      fields: { lora_name: 'string', lora_path: 'string', load_inplace: 'bool' },
    });
    const [name, path] = [String(fields.lora_name), String(fields.lora_path)];
    if (name === '' || path === '')
      throw new VllmError(400, "Both 'lora_name' and 'lora_path' must be provided.", 'InvalidUserInput');
    if (context.adapters.has(name) && fields.load_inplace !== true) {
      throw new VllmError(
        400,
        `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
        'InvalidUserInput',
      );
    }
    if (!context.adapterExists(path)) {
      throw new VllmError(404, `Loading lora ${name} failed: No adapter found for ${path}`, 'NotFoundError', null, true);
    }
    context.adapters.set(name, path);
    sendText(response, 200, `Success: LoRA adapter '${name}' added successfully.`);
  });
}

export function unloadAdapter(context: FaceContext, dialect: VllmDialect): Handler {
  return answerErrors(dialect, ({ request, response, body }) => {
    const fields = readBody(body, request.headers, dialect, { required: ['lora_name'], fields: { lora_name: 'string' } });
    const name = String(fields.lora_name);
    if (!context.adapters.delete(name)) throw new VllmError(404, `The lora adapter '${name}' cannot be found.`, 'NotFoundError');
    sendText(response, 200, `Success: LoRA adapter '${name}' removed successfully.`);
  });
}

/** A handler whose VllmErrors become answers. */
export function answerErrors(dialect: VllmDialect, handler: Handler): Handler {
  return (exchange: Exchange) => {
    try {
      handler(exchange);
    } catch (error) {
      if (!(error instanceof VllmError)) throw error;
      sendError(exchange.response, error, dialect);
    }
  };
}
