import type { Face, FaceContext } from '../face-context';
import { type Exchange, type Handler, sendJson, sendText } from '../http/exchange';
import { hexId } from '../ids';
import { readBody } from './completion-request';
import { abortRequest, generate } from './generate';
import { sglangCompletions } from './sglang-completions';
import { SglangError } from './sglang-error';
import { loads, modelInfo, serverInfo } from './sglang-info';

/** How long `/health` waits for its token (`SGLANG_HEALTH_CHECK_TIMEOUT`). */
const HEALTH_TIMEOUT_MS = 20_000;

/** What every model that is served here answers to embeddings. */
const NO_EMBEDDINGS =
  'This model does not appear to be an embedding model by default. Please add `--is-embedding` when launching the server or try another model.';

/** SGLang's API server: its own API, its OpenAI routes, health, models, tokens and metrics. */
export function sglangFace(context: FaceContext): Face {
  const { plan, core, ranks } = context;
  const health: Handler = ({ response }) => checkHealth(context, response);
  const tokenize: Handler = withErrors(({ request, response, body }) => {
    const tokens = context.tokenizer.encode(String(readBody(body, request.headers).prompt ?? ''));
    sendJson(response, 200, { tokens, count: tokens.length, max_model_len: core.maxTokens });
  });

  return {
    routes: {
      '/health': { GET: health },
      '/health_generate': { GET: health },
      '/ping': { GET: ({ response }) => sendText(response, 200, '') },
      '/metrics': {
        GET: ({ response }) =>
          sendText(
            response,
            200,
            context.faults.frozenMetrics ?? context.metrics.render(),
            'text/plain; version=0.0.4; charset=utf-8',
          ),
      },
      '/tokenize': { POST: tokenize },
      '/v1/tokenize': { POST: tokenize },
      '/detokenize': {
        POST: withErrors(({ request, response, body }) => {
          const ids = readBody(body, request.headers).tokens;
          sendJson(response, 200, { text: context.tokenizer.decode(Array.isArray(ids) ? ids.map(Number) : []) });
        }),
      },
      '/flush_cache': {
        POST: ({ response }) => {
          const isIdle = ranks.every((rank) => {
            const { running, waiting } = rank.core.stats();
            return running + waiting === 0;
          });
          if (isIdle) for (const rank of ranks) rank.core.resetPrefixCache();
          sendText(
            response,
            200,
            'Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n',
          );
        },
      },
      '/v1/models': {
        GET: ({ response }) => {
          const created = Math.floor(context.clock.now() / 1000);
          const base = plan.servedModelNames[0]!;
          const data = [
            ...plan.servedModelNames.map((id) => ({ id, root: id, parent: null, max_model_len: core.maxTokens })),
            ...[...context.adapters].map(([id, root]) => ({ id, root, parent: base, max_model_len: null })),
          ];
          sendJson(response, 200, {
            object: 'list',
            data: data.map(({ id, ...rest }) => ({ id, object: 'model', created, owned_by: 'sglang', ...rest })),
          });
        },
      },
      '/model_info': { GET: modelInfo(context) },
      '/get_model_info': { GET: modelInfo(context) },
      '/server_info': { GET: serverInfo(context) },
      '/get_server_info': { GET: serverInfo(context) },
      '/v1/loads': { GET: loads(context) },
      '/generate': { POST: generate(context) },
      '/abort_request': { POST: abortRequest(context) },
      '/load_lora_adapter': { POST: withErrors(loadAdapter(context)) },
      '/v1/embeddings': { POST: ({ response }) => new SglangError(NO_EMBEDDINGS).send(response) },
      '/v1/chat/completions': { POST: sglangCompletions(context, 'chat') },
      '/v1/completions': { POST: sglangCompletions(context, 'completions') },
    },
    guard(request, response, path) {
      const isOpen = plan.apiKey === undefined || path.startsWith('/health') || path === '/metrics' || path === '/ping';
      if (isOpen || request.headers.authorization === `Bearer ${plan.apiKey}`) return false;
      sendJson(response, 401, { error: 'Unauthorized' });
      return true;
    },
  };
}

/** Good is an engine that generates a token, so that a wedged one is found. */
function checkHealth({ ranks, clock, random, phase }: FaceContext, response: Exchange['response']): void {
  if (phase !== 'serving') {
    sendText(response, 503, '');
    return;
  }
  const answer = (status: number): void => {
    timer.cancel();
    if (!response.headersSent) sendText(response, status, '');
  };
  const timer = clock.after(HEALTH_TIMEOUT_MS, () => {
    submission.abort();
    answer(503);
  });
  const id = `HEALTH_CHECK_${hexId(random, 16)}`;
  const submission = ranks[0]!.core.submit({
    id,
    promptTokens: 1,
    outputTokens: 1,
    // One token never fills a block that somebody else could use.
    blockKey: () => -1,
    onToken: () => undefined,
    onEnd: ({ kind }) => answer(kind === 'finished' ? 200 : 503),
  });
}

/** `POST /load_lora_adapter`. Only the refusal was recorded; a load answers with the same members. */
function loadAdapter({ plan, adapters, adapterExists }: FaceContext): Handler {
  return ({ request, response, body }) => {
    const { lora_name: name, lora_path: path } = readBody(body, request.headers);
    const answer = (status: number, error: string): void =>
      sendJson(response, status, {
        rid: null,
        http_worker_ipc: null,
        success: status === 200,
        error_message: error,
        loaded_adapters: status === 200 ? Object.fromEntries(adapters) : null,
      });
    if (plan.loadsAdaptersAtRunTime !== true)
      return answer(400, 'LoRA is not enabled. Please set `--enable-lora` to enable LoRA.');
    if (typeof name !== 'string' || typeof path !== 'string') return answer(400, 'lora_name and lora_path are needed.');
    if (!adapterExists(path)) return answer(400, `No adapter found at ${path}.`);
    adapters.set(name, path);
    answer(200, '');
  };
}

function withErrors(handler: Handler): Handler {
  return (exchange) => {
    try {
      handler(exchange);
    } catch (error) {
      if (!(error instanceof SglangError)) throw error;
      error.send(exchange.response);
    }
  };
}
