import { SglangDecode } from './sglang-decode';
import { SglangPrefill } from './sglang-prefill';
import type { SglangTransfer, SglangTransferOptions } from './sglang-transfer';

export interface StartTransferOptions extends Omit<SglangTransferOptions, 'transfer' | 'address'> {
  readonly host: string;
  /** Instead of the plan's bootstrap port; 0 takes a free one. */
  readonly kvPort: number | undefined;
}

/** @returns the role of an SGLang engine's plan; undefined when it has none. @throws KvasirError `listen/…` */
export async function startSglangTransfer(options: StartTransferOptions): Promise<SglangTransfer | undefined> {
  const transfer = options.plan.kvTransfer;
  if (transfer?.connector !== 'sglang') return undefined;
  const address = { host: options.host, port: options.kvPort ?? transfer.bootstrapPort };
  const all = { ...options, transfer, address };
  return transfer.role === 'prefill' ? SglangPrefill.start(all) : new SglangDecode(all);
}
