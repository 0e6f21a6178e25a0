import type { Face, FaceContext } from '../face-context';
import { type Exchange, type Handler, sendJson, sendText } from '../http/exchange';
import { hexId } from '../ids';
import { readBody } from './completion-request';
import { sglangCompletions } from './sglang-completions';
import { SglangError } from './sglang-error';

/** How long `/health` waits for its token (`SGLANG_HEALTH_CHECK_TIMEOUT`). */
const HEALTH_TIMEOUT_MS = 20_000;

/** SGLang's API server: its OpenAI routes, health, models, tokens and metrics. */
export function sglangFace(context: FaceContext): Face {
  const { plan, core } = context;
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
          const { running, waiting } = core.stats();
          if (running + waiting === 0) core.resetPrefixCache();
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
function checkHealth({ core, clock, random, phase }: FaceContext, response: Exchange['response']): void {
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
  const submission = core.submit({
    id,
    promptTokens: 1,
    outputTokens: 1,
    // One token never fills a block that somebody else could use.
    blockKey: () => -1,
    onToken: () => undefined,
    onEnd: ({ kind }) => answer(kind === 'finished' ? 200 : 503),
  });
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
