import type { Filter } from '../filter';

/** Kthena's filter: keeps endpoints whose engine lists the adapter. Requests for none, and engines that did not say, are kept. */
export const loraAffinity: Filter = {
  name: 'lora-affinity',
  keeps: ({ adapter }, { models }) => adapter === undefined || models === undefined || models.has(adapter),
};
