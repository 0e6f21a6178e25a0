import type { EnginePlan } from '../../src/expand/engine-plan';
import type { KvTransferPlan } from '../../src/expand/kv-transfer-plan';

/** Ports are chosen by the system in tests, so that those of the plans never matter. */
export const NIXL: KvTransferPlan = { connector: 'nixl', sideChannelPort: 5600, leaseSeconds: 30, onLoadFailure: 'fail' };

export const mooncake = (isProducer: boolean): KvTransferPlan => ({
  connector: 'mooncake',
  isProducer,
  bootstrapPort: 8998,
  abortSeconds: 480,
  onLoadFailure: 'fail',
});

export const sglangRole = (role: 'prefill' | 'decode'): Partial<EnginePlan> => ({
  engine: 'sglang',
  version: '0.5.23',
  reportsCachedTokens: true,
  kvTransfer: { connector: 'sglang', role, bootstrapPort: 8998 },
});
