import type { Objects } from '../../cluster/objects';
import { formatAddress, type ListenAddress } from '../../lib/http-listen';

/** The first model that clients can ask for: a base model if there is one, else an adapter. */
export function modelToAsk(objects: Objects): string {
  const routes = objects.list('ModelRoute');
  const names = [
    ...routes.flatMap(({ spec }) => spec.modelName ?? []).sort(),
    ...routes.flatMap(({ spec }) => spec.loraAdapters ?? []),
  ];
  return names[0] ?? '';
}

/** A command that streams one chat answer, on one line, ready to be pasted into a shell. */
export function curlOf(router: ListenAddress, model: string): string {
  const body = { model, stream: true, max_tokens: 64, messages: [{ role: 'user', content: 'What is a KV cache?' }] };
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -N http://${formatAddress(router)}/v1/chat/completions -H 'content-type: application/json' -d '${quoted}'`;
}
