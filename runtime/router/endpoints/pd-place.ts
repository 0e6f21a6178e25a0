import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import { kvBytesPerToken, modelShapeOrDefault } from '../../../src/catalog/models';
import { planEngine } from '../../../src/expand/plan-engine';
import { type PodAddress, podAddress } from '../../../src/expand/pod-address';
import { Labels } from '../../../src/labels';

/** What pairing and hand-off need to know of a pod that prefills or decodes for another. */
export interface PdPlace {
  /** Value of the server's `groupKey` label: pods pair within it only. */
  readonly group: string;
  /** Equal in two pods that understand each other's KV. */
  readonly revision: string;
  /** Where its bootstrap server listens, if it has one. */
  readonly bootstrap: PodAddress;
  /** Data-parallel ranks, ≥ 1. */
  readonly ranks: number;
  /** How long it keeps KV that nobody fetches, where its flags say it. */
  readonly leaseMs: number | undefined;
  readonly kvBytesPerToken: number;
}

/** Default of SGLang and of vLLM's MooncakeConnector. */
const DEFAULT_BOOTSTRAP_PORT = 8998;

/**
 * Reads it from a pod's labels and flags. Pods without the label of `kvRevisionOf` have the same KV where engine and version are equal.
 *
 * @returns undefined for a pod that can pair with none: without an address, or outside of every group.
 */
export function pdPlaceOf(pod: Pod, server: ModelServer): PdPlace | undefined {
  const { pdGroup } = server.spec.workloadSelector;
  const labels = pod.metadata.labels ?? {};
  const group = pdGroup === undefined ? '' : (labels[pdGroup.groupKey] ?? '');
  if (group === '') return undefined;
  const plan = planEngine(pod, { modelServers: [server], modelRoutes: [] });
  const transfer = plan?.kvTransfer;
  const port =
    transfer?.connector === 'mooncake' || transfer?.connector === 'sglang' ? transfer.bootstrapPort : DEFAULT_BOOTSTRAP_PORT;
  const bootstrap = podAddress(pod, port);
  if (bootstrap === undefined) return undefined;
  return {
    group,
    revision: labels[Labels.kvRevision] ?? `${plan?.engine} ${plan?.version}`,
    bootstrap,
    ranks: Math.max(1, plan?.dataParallelSize ?? 1),
    leaseMs:
      transfer?.connector === 'nixl'
        ? transfer.leaseSeconds * 1000
        : transfer?.connector === 'mooncake'
          ? transfer.abortSeconds * 1000
          : undefined,
    kvBytesPerToken: kvBytesPerToken(modelShapeOrDefault(plan?.model ?? '').shape),
  };
}
