import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import type { TrafficPolicy } from '../../../src/api/model-server';
import { formatDuration, parseDurationMs } from '../../../src/duration';
import type { JsonObject } from './json';
import { isPlain } from './plain-metadata';

/** Pause between attempts that the construct writes when none is given, in milliseconds. */
const DEFAULT_INTERVAL_MS = 100;

/**
 * Props of a `ModelServer` construct that makes `object`.
 *
 * @returns undefined when the construct cannot say all of it.
 */
export function modelServerProps(object: KubeObject): JsonObject | undefined {
  const decoded = decodeKind('ModelServer', object);
  if (decoded.kind === 'invalid' || !isPlain(object)) return undefined;
  const { model, inferenceEngine, workloadSelector, workloadPort, trafficPolicy, kvConnector } = decoded.value.spec;
  const { matchLabels, pdGroup } = workloadSelector;
  const traffic = trafficPolicy === undefined ? undefined : trafficOf(trafficPolicy);
  if (traffic === undefined || matchLabels === undefined || workloadPort.protocol !== 'http') return undefined;
  if (kvConnector !== undefined && pdGroup === undefined) return undefined;
  return {
    engine: inferenceEngine,
    podLabels: matchLabels,
    port: workloadPort.port,
    ...(model === undefined ? {} : { model }),
    ...(pdGroup === undefined
      ? {}
      : { disaggregation: { ...pdGroup, ...(kvConnector === undefined ? {} : { handOff: kvConnector.type }) } }),
    traffic,
  };
}

function trafficOf({ timeout, retry }: TrafficPolicy): JsonObject | undefined {
  if (timeout === undefined && retry === undefined) return undefined;
  const timeoutMs = timeout === undefined ? undefined : exactMs(timeout);
  const intervalMs = retry === undefined ? undefined : exactMs(retry.retryInterval);
  if (timeout !== undefined && timeoutMs === undefined) return undefined;
  if (retry !== undefined && (intervalMs === undefined || retry.attempts === undefined)) return undefined;
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retry === undefined
      ? {}
      : { retry: { attempts: retry.attempts, ...(intervalMs === DEFAULT_INTERVAL_MS ? {} : { intervalMs }) } }),
  };
}

/** @returns undefined for a duration that the construct would write in another way. */
function exactMs(duration: string): number | undefined {
  const ms = parseDurationMs(duration);
  return ms !== undefined && formatDuration(ms) === duration ? ms : undefined;
}
