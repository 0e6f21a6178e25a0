import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Face, FaceContext } from '../face-context';
import { type Handler, sendJson, sendText } from '../http/exchange';
import { chatCompletions } from './chat-completions';
import { completions } from './completions';
import { vllmDialect } from './dialect';
import { listModels, loadAdapter, unloadAdapter } from './models';
import { detokenize, tokenize } from './tokenize';

/** vLLM's API server, as far as it is simulated. */
export function vllmFace(context: FaceContext): Face {
  const { plan, ranks } = context;
  const dialect = vllmDialect(plan.version);
  const configuration = createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 8);
  const fingerprint = `vllm-${dialect.version}-${configuration}`;
  // Recorded: 200 as long as the socket is open, also after SIGTERM and after the core's death.
  const isUp: Handler = ({ response }) => sendText(response, 200, '');

  return {
    routes: {
      '/health': { GET: isUp },
      '/ping': { GET: isUp, POST: isUp },
      '/version': { GET: ({ response }) => sendJson(response, 200, { version: dialect.version }) },
      // Counts requests only under a flag that plans do not carry; a server without it says 0.
      '/load': { GET: ({ response }) => sendJson(response, 200, { server_load: 0 }) },
      '/metrics': {
        GET: ({ response }) => {
          const text = context.faults.frozenMetrics ?? context.metrics.render();
          sendText(response, 200, text, 'text/plain; version=1.0.0; charset=utf-8');
        },
      },
      '/tokenize': { POST: tokenize(context, dialect) },
      '/detokenize': { POST: detokenize(context, dialect) },
      '/reset_prefix_cache': {
        POST: ({ response }) => {
          for (const { core } of ranks) core.resetPrefixCache();
          if (dialect.isRecent) sendJson(response, 200, { success: true });
          else sendText(response, 200, '');
        },
      },
      '/v1/models': { GET: listModels(context) },
      '/v1/chat/completions': { POST: chatCompletions(context, dialect, fingerprint) },
      '/v1/completions': { POST: completions(context, dialect, fingerprint) },
      '/v1/load_lora_adapter': { POST: loadAdapter(context, dialect) },
      '/v1/unload_lora_adapter': { POST: unloadAdapter(context, dialect) },
    },
    guard(request, response, path) {
      if (isPreflight(request)) {
        answerPreflight(response, dialect.isRecent);
        return true;
      }
      if (plan.apiKey === undefined || !path.startsWith('/v1') || request.headers.authorization === `Bearer ${plan.apiKey}`)
        return false;
      refuseKey(response);
      return true;
    },
  };
}

function isPreflight(request: IncomingMessage): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  );
}

/** 0.32 allows no origin by default, 0.20 allowed all. */
function answerPreflight(response: ServerResponse, isRecent: boolean): void {
  sendText(response, isRecent ? 400 : 200, isRecent ? 'Disallowed CORS origin' : 'OK', 'text/plain; charset=utf-8', {
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers, Access-Control-Request-Private-Network',
    ...(isRecent ? {} : { 'access-control-allow-origin': '*' }),
    'access-control-allow-methods': 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY',
    'access-control-max-age': '600',
  });
}

/** Outside of the layer that sets `vary`. */
function refuseKey(response: ServerResponse): void {
  const body = '{"error":"Unauthorized"}';
  response.removeHeader('connection');
  response.writeHead(401, { server: 'uvicorn', 'content-length': body.length, 'content-type': 'application/json' });
  response.end(body);
}
