import { GUARDED_MEMBERS } from '../../../src/config/request-config';

/**
 * Members of a request body that only a router may set: they address other pods, other tenants' caches or the engine's scheduler.
 * One of them is enough to kill a decode engine.
 */
const ROUTER_ONLY: ReadonlySet<string> = new Set([
  'kv_transfer_params',
  'ec_transfer_params',
  'cache_salt',
  'data_parallel_rank',
  'priority',
  'request_id',
  'rid',
  'prompt_embeds',
  'mm_payload',
  'vllm_xargs',
  'extra_key',
  ...GUARDED_MEMBERS,
]);

/** Whether a top-level member never passes from a client to an engine. @param key decoded. */
export function isForbiddenMember(key: string): boolean {
  return ROUTER_ONLY.has(key) || key.startsWith('bootstrap_');
}

const GUARDED: ReadonlySet<string> = new Set(GUARDED_MEMBERS);

/** Whether a forbidden member passes where the configuration allows it for the model. @param key decoded. */
export function isGuardedMember(key: string): boolean {
  return GUARDED.has(key);
}
