import type { ModelBooster } from '../../api/model-booster';
import { error, type Problem, shown, warning } from '../../api/problem';
import { modelPath } from './cache';
import { engineFlags, installOf, startsInShell, workerConfig } from './engine-command';
import { addedEnv, type EngineRole } from './environment';
import { goPrint } from './go-print';
import { servedModelName, writtenServedName } from './routing-children';
import type { BoosterSettings } from './settings';

const WORKERS = 'spec.backend.workers';

/**
 * What Kthena's controller makes of a ModelBooster without a word, and what then does not work: admission takes all of these, and the
 * pods fail. Errors are what no pod can come of.
 */
export function boosterProblems(booster: ModelBooster, settings: BoosterSettings): readonly Problem[] {
  return [...missingRoles(booster), ...withoutCache(booster), ...repeatedEnv(booster), ...warnings(booster, settings)];
}

const rolesOf = ({ spec: { backend } }: ModelBooster): readonly EngineRole[] =>
  backend.type === 'vLLM' ? ['server'] : ['prefill', 'decode'];

function* missingRoles(booster: ModelBooster): Iterable<Problem> {
  for (const role of rolesOf(booster)) {
    if (booster.spec.backend.workers.some(({ type }) => type === role)) continue;
    yield error(WORKERS, 'model-booster/workers', `there is no ${role} worker`, `add a worker of type ${role}`);
  }
}

function* withoutCache({ spec: { backend } }: ModelBooster): Iterable<Problem> {
  if (backend.cacheURI !== undefined && backend.cacheURI !== '') return;
  yield error(
    'spec.backend.cacheURI',
    'model-booster/no-cache',
    'is missing, and the volume would be mounted at no path',
    'give pvc://<claim> or hostpath://<folder>',
  );
}

function* repeatedEnv(booster: ModelBooster): Iterable<Problem> {
  const added = new Set(rolesOf(booster).flatMap((role) => addedEnv(role).map(({ name }) => name)));
  for (const [i, { name }] of (booster.spec.backend.env ?? []).entries()) {
    if (!added.has(name)) continue;
    yield error(
      `spec.backend.env[${i}].name`,
      'model-booster/env',
      `${shown(name)} is set for every engine anyway, and no pod may have it twice`,
      'remove it',
    );
  }
}

function* warnings(booster: ModelBooster, settings: BoosterSettings): Iterable<Problem> {
  const { backend } = booster.spec;
  for (const [i, worker] of backend.workers.entries()) {
    const field = `${WORKERS}[${i}]`;
    if (worker.replicas === undefined) {
      yield warning(`${field}.replicas`, 'model-booster/no-replicas', 'is missing, which means 0: no pods', 'give replicas: 1');
    }
    for (const [key, value] of Object.entries(workerConfig(worker))) {
      const written = goPrint(value);
      if (!isGarbled(value, written)) continue;
      yield warning(
        `${field}.config.${key}`,
        'model-booster/garbled-flag',
        `reaches the engine as ${shown(written)}`,
        'write the value as a string, in quotes',
      );
    }
    const unquoted = engineFlags(worker).find(needsQuotes);
    if (unquoted !== undefined && startsInShell(backend, worker, settings)) {
      yield warning(
        `${field}.config`,
        'model-booster/unquoted-command',
        `${shown(unquoted)} goes through a shell without quotes, and the engine gets something else`,
        installOf(backend, worker, settings) === undefined
          ? 'put quotes for the shell around the value'
          : "take an image that has the transfer library, and set KTHENA_SKIP_ENGINE_DEPENDENCY_INSTALL to 'true' in spec.backend.env",
      );
    }
  }
  if (writtenServedName(backend) === undefined) {
    yield warning(
      WORKERS,
      'model-booster/served-name',
      `the router asks for ${shown(servedModelName(booster))}, and the engine only knows ${shown(modelPath(backend))}`,
      `set served-model-name to ${servedModelName(booster)} in config`,
    );
  }
}

/** Go's notation for lists and maps, no value, and numbers with an exponent: nothing that an engine reads as what was meant. */
function isGarbled(value: unknown, written: string): boolean {
  return value === null || typeof value === 'object' || (typeof value === 'number' && /e\+/.test(written));
}

const needsQuotes = (word: string): boolean => !/^[\w@%+=:,./-]+$/.test(word);
