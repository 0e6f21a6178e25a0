import type { HandOffConnector, HandOffTerms } from '../connector';

const TERMS: HandOffTerms = {
  prefillMembers: '',
  prefillHeaders: [],
  decodeMembers: () => ({ kind: 'members', text: '' }),
};

/**
 * KV that lies in a store which both pods reach (LMCache, a shared folder): decode finds it by the prompt itself, so that requests carry
 * nothing for it and every prompt and choice of a request goes along.
 */
export const httpConnector: HandOffConnector = {
  name: 'http',
  order: 'prefill-first',
  canSkipPrefill: true,
  several: 'one-hand-off',
  leaseMs: () => undefined,
  open: () => TERMS,
  forget: () => undefined,
};
