import { posix } from 'node:path';
import { boosterEnginePort, boosterKvConnector } from './booster-engine';
import type { BoosterBackend, ModelBooster } from './model-booster';
import { error, type Problem, shown } from './problem';

const PVC = 'pvc://';

/** What Kthena's webhook asks of a ModelBooster. */
export function* modelBoosterRules({ spec }: ModelBooster): Iterable<Problem> {
  const { backend } = spec;
  for (const [i, { image }] of backend.workers.entries()) {
    if (image !== undefined && image !== '' && /\s/.test(image)) {
      yield error(
        `spec.backend.workers[${i}].image`,
        'model-booster/image',
        `${shown(image)} has spaces`,
        'write the image without spaces',
      );
    }
  }
  yield* workerRules(backend);
  const port = boosterEnginePort(spec);
  if (port.kind === 'wrong')
    yield error('spec.backend.workers', 'model-booster/port', port.message, 'give all workers the same port from 1 to 65535');
  const connector = boosterKvConnector(spec);
  if (connector.kind === 'wrong') {
    yield error(
      'spec.backend.workers',
      'model-booster/kv-connector',
      connector.message,
      'give prefill and decode the same connector, each with its role',
    );
  }
  yield* pvcRules(backend);
}

function* workerRules({ type, workers }: BoosterBackend): Iterable<Problem> {
  const field = 'spec.backend.workers';
  if (type === 'vLLM') {
    if (workers.length !== 1)
      yield error(field, 'model-booster/workers', `there are ${workers.length} workers`, 'a vLLM backend has exactly one');
    for (const [i, worker] of workers.entries()) {
      if (worker.type !== 'server') {
        yield error(
          `${field}[${i}].type`,
          'model-booster/workers',
          `${shown(worker.type)} does not go with vLLM`,
          'use server, or the type vLLMDisaggregated',
        );
      }
    }
    return;
  }
  for (const [i, worker] of workers.entries()) {
    if (worker.type !== 'prefill' && worker.type !== 'decode') {
      yield error(
        `${field}[${i}].type`,
        'model-booster/workers',
        `${shown(worker.type)} does not go with vLLMDisaggregated`,
        'use prefill or decode',
      );
    }
  }
}

/** A model on a claim is read inside the pod, so the claim must be mounted as the cache, above the model. */
function* pvcRules({ modelURI, cacheURI }: BoosterBackend): Iterable<Problem> {
  if (!modelURI.startsWith(PVC)) return;
  if (modelURI.split('/').includes('..')) {
    yield error(
      'spec.backend.modelURI',
      'model-booster/pvc',
      `${shown(modelURI)} has a .. in its path`,
      'write the path without ..',
    );
  }
  if (cacheURI === undefined || !cacheURI.startsWith(PVC)) {
    yield error(
      'spec.backend.cacheURI',
      'model-booster/pvc',
      'the model is on a claim and the cache is not',
      'set cacheURI to the pvc:// of the same claim',
    );
    return;
  }
  const claim = cacheURI.slice(PVC.length).replace(/^\/+|\/+$/g, '');
  if (claim === '' || claim.includes('/')) {
    yield error('spec.backend.cacheURI', 'model-booster/pvc', `${shown(cacheURI)} names no single claim`, 'write pvc://<claim>');
    return;
  }
  const source = posix.normalize(`/${modelURI.slice(PVC.length)}`);
  if (source !== `/${claim}` && !source.startsWith(`/${claim}/`)) {
    yield error(
      'spec.backend.modelURI',
      'model-booster/pvc',
      `${shown(source)} is not below /${claim}, where the cache is mounted`,
      `write pvc://${claim}/<path>`,
    );
  }
}
