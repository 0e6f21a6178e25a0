import type { Engine, EngineName, EngineTable } from './engine';
import { metricsOfVersion } from './metrics';
import { sglang } from './sglang';
import { compareVersions, releaseOf } from './version';
import { vllm } from './vllm';

/** All engines of the catalogue. */
export const ENGINES: Readonly<Record<EngineName, Engine>> = { vllm, sglang };

/** @returns the engine that `ModelServer.spec.inferenceEngine` names. */
export function engineOfApiName(apiName: Engine['apiName']): Engine {
  return apiName === 'SGLang' ? sglang : vllm;
}

/** Version that stands for an image tag such as `latest`: the newest recorded one. */
export function newestVersion(engine: EngineName): string {
  return ENGINES[engine].recordings.at(-1)!.version;
}

/**
 * What the catalogue knows of `version`: the table recorded from it, else the nearest older one, else the oldest.
 *
 * @param version a release, with or without `v`; anything else (`latest`) stands for the newest recorded one.
 */
export function engineTable(name: EngineName, version: string): EngineTable {
  const engine = ENGINES[name];
  const asked = releaseOf(version) === undefined ? newestVersion(name) : version;
  const recording =
    engine.recordings.findLast((recorded) => compareVersions(recorded.version, asked) <= 0) ?? engine.recordings[0]!;
  return {
    engine,
    version: recording.version,
    isExact: compareVersions(recording.version, version) === 0,
    flags: recording.flags(),
    metrics: metricsOfVersion(engine.metrics, asked),
  };
}
