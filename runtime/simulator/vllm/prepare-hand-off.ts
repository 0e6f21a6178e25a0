import type { EngineRank } from '../engine-rank';
import type { FaceContext } from '../face-context';
import type { GenerationInput } from '../generation';
import { isObject } from '../http/json-body';
import { hexId } from '../ids';
import { ENGINE_DEAD } from './vllm-error';

/**
 * A generation with what `kv_transfer_params` make of it at the rank's connector. Without a connector they mean nothing.
 *
 * @param params of the request's body.
 * @throws VllmError 500 when they are of the kind that the engine does not survive.
 */
export function prepareHandOff(
  context: FaceContext,
  { connector }: EngineRank,
  input: GenerationInput,
  params: unknown,
): GenerationInput {
  if (connector === undefined) return input;
  const { id, choice, choices, promptIds, blockSize, adapter, salt } = input;
  const base = id.slice(0, id.lastIndexOf('-'));
  const prepared = connector.prepare(isObject(params) ? params : undefined, {
    // As the engine names its requests: recorded in `remote_request_id`.
    id: `${choices > 1 ? `${choice}_` : ''}${base}-${hexId(context.random, 8)}`,
    promptIds,
    blockSize,
    namespace: { ...(adapter === undefined ? {} : { adapter }), ...(salt === undefined ? {} : { salt }) },
  });
  switch (prepared.kind) {
    case 'plain':
      return input;
    case 'hand-off':
      return { ...input, handOff: prepared.handOff };
    case 'fatal':
      context.crash();
      throw ENGINE_DEAD;
  }
}
