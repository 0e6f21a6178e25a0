import { createHash } from 'node:crypto';
import type { Engine } from '../engine/engine';
import type { Launch } from '../engine/engine-spec';
import type { KvConnector } from '../kv-connector';
import type { ModelSource } from '../model-source';

/**
 * Hash of what must be alike in two pods for one to use the other's KV cache: model and its revision, types, block size, connector, engine
 * and its version. During a rollout the router pairs only pods of one value. Nothing else goes in: a change of batch sizes or of memory
 * must not part pods that understand each other.
 */
export function kvRevisionOf(
  source: ModelSource,
  { engine, launch }: { readonly engine: Engine; readonly launch: Launch },
  connector: KvConnector,
): string {
  const { origin } = source;
  const layout = engine.kvLayoutOf?.(launch);
  const facts = [
    source.engineArgument,
    'revision' in origin ? (origin.revision ?? null) : null,
    layout?.dtype ?? null,
    layout?.cacheDtype ?? null,
    layout?.blockSize ?? null,
    connector.name,
    // The image stands for the version of an engine that has none.
    engine.release === undefined ? engine.image : `${engine.release.name} ${engine.release.version}`,
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 10);
}
