import type { DecodeMembers, HandOffConnector, HandOffTerms, PrefillTarget } from '../connector';
import { memberText, withMember } from '../member-text';

/** vLLM's `kv_lease_duration`. */
const DEFAULT_LEASE_MS = 30_000;

/** As recorded of prefill's requests. */
const PREFILL_MEMBERS =
  '"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}';

/** Without one of these a real decode engine hangs, or dies with all of its requests (recorded). */
const REQUIRED: Readonly<Record<string, (value: unknown) => boolean>> = {
  do_remote_prefill: (value) => value === true,
  remote_block_ids: Array.isArray,
  remote_engine_id: (value) => typeof value === 'string' && value !== '',
  remote_request_id: (value) => typeof value === 'string' && value !== '',
  remote_host: (value) => typeof value === 'string' && value !== '',
  remote_port: (value) => Number.isInteger(value),
};

/**
 * vLLM's NixlConnector: prefill's answer says where its blocks are, and decode reads them there. The answer tells of one generation
 * only, so that several cannot be handed over together.
 */
export const nixlConnector: HandOffConnector = {
  name: 'nixl',
  order: 'prefill-first',
  canSkipPrefill: true,
  several: 'whole',
  leaseMs: ({ leaseMs }) => leaseMs ?? DEFAULT_LEASE_MS,
  open: (prefill): HandOffTerms => ({
    prefillMembers: PREFILL_MEMBERS,
    prefillHeaders: [],
    decodeMembers: (answer) => decodeMembers(answer, prefill),
  }),
  forget: () => undefined,
};

/** Addresses that an engine listens on where it was told to take every network, and that mean the reader's own host to others. */
const EVERY_ADDRESS: ReadonlySet<unknown> = new Set(['0.0.0.0', '::']);

/** The parameters go on as they came, unknown ones included; only an address that cannot be reached is made the pod's. */
function decodeMembers(answer: Buffer | undefined, { host }: PrefillTarget): DecodeMembers {
  const text = answer === undefined ? undefined : memberText(answer, 'kv_transfer_params');
  const params = text === undefined ? undefined : objectOf(text);
  if (text === undefined || params === undefined) {
    return { kind: 'none', reason: 'prefill told no kv_transfer_params', keepsKv: false };
  }
  const wrong = Object.keys(REQUIRED).find((name) => !REQUIRED[name]!(params[name]));
  if (wrong !== undefined) return unusable(`${wrong} is not usable`);
  // Decode connects to whatever stands here.
  if (params.remote_host === host) return { kind: 'members', text: `"kv_transfer_params":${text}` };
  if (!EVERY_ADDRESS.has(params.remote_host)) return unusable("remote_host is not the pod's address");
  return { kind: 'members', text: `"kv_transfer_params":${withMember(text, 'remote_host', JSON.stringify(host))}` };
}

function unusable(reason: string): DecodeMembers {
  return { kind: 'none', reason: `prefill's kv_transfer_params: ${reason}`, keepsKv: true };
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
