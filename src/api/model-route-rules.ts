import { RE2JS } from 're2js';
import { parseDurationMs } from '../duration';
import { fieldPath } from './field-path';
import { HTTP_TOKEN, type ModelRoute, type Rule, type SessionAffinity, type StringMatch, type TargetModel } from './model-route';
import { error, type Problem, shown, warning } from './problem';

/** What Kthena's CEL rules and webhook ask of a route, and what cannot have been meant. */
export function* modelRouteRules({ spec }: ModelRoute): Iterable<Problem> {
  const { modelName = '', loraAdapters = [], rules, sessionAffinity } = spec;
  if (modelName === '' && loraAdapters.length === 0) {
    yield error(
      'spec',
      'model-route/no-model',
      'neither modelName nor loraAdapters is set',
      'name the model that the route serves',
    );
  }
  for (const [i, adapter] of loraAdapters.entries()) {
    if (adapter === '')
      yield error(`spec.loraAdapters[${i}]`, 'model-route/empty-adapter', '"" is no adapter name', 'name it or remove it');
  }
  for (const [i, rule] of rules.entries()) {
    yield* ruleRules(rule, `spec.rules[${i}]`, loraAdapters.length > 0);
    if (i < rules.length - 1 && matchesAll(rule)) {
      yield warning(
        `spec.rules[${i}]`,
        'model-route/unreachable-rules',
        'matches every request, so that the rules after it are never reached',
        'move it to the end',
      );
    }
  }
  if (sessionAffinity !== undefined) yield* affinityRules(sessionAffinity);
}

function* affinityRules({ source, name, ttl }: SessionAffinity): Iterable<Problem> {
  if ((source === 'header' || source === 'cookie') && !new RegExp(HTTP_TOKEN).test(name)) {
    yield error(
      'spec.sessionAffinity.name',
      'model-route/affinity-name',
      `${shown(name)} is no name of a ${source}`,
      'use letters, digits and dashes',
    );
  }
  if ((parseDurationMs(ttl) ?? 0) <= 0) {
    yield error(
      'spec.sessionAffinity.ttl',
      'model-route/affinity-ttl',
      `${shown(ttl)} remembers nothing`,
      'write one above 0, like 1h',
    );
  }
}

/** Whether a rule has no conditions. */
export function matchesAll({ modelMatch }: Rule): boolean {
  if (modelMatch === undefined) return true;
  const { headers = {}, uri, body } = modelMatch;
  return Object.keys(headers).length === 0 && uri === undefined && body?.model === undefined;
}

function* ruleRules({ modelMatch, targetModels, shadow }: Rule, path: string, hasAdapters: boolean): Iterable<Problem> {
  for (const [header, match] of Object.entries(modelMatch?.headers ?? {})) {
    yield* stringMatchRules(match, fieldPath(`${path}.modelMatch.headers`, header));
  }
  if (modelMatch?.uri !== undefined) yield* stringMatchRules(modelMatch.uri, `${path}.modelMatch.uri`);
  for (const [j, target] of targetModels.entries()) yield* targetRules(target, `${path}.targetModels[${j}]`, hasAdapters);
  if (targetModels.reduce((sum, { weight }) => sum + weight, 0) === 0) {
    yield error(
      `${path}.targetModels`,
      'model-route/no-weight',
      'the weights add up to 0',
      'give one target a weight from 1 to 100, or leave the weights out',
    );
  }
  if (shadow !== undefined && targetModels.some(({ modelServerName }) => modelServerName === shadow.modelServerName)) {
    yield warning(
      `${path}.shadow.modelServerName`,
      'model-route/shadow-of-itself',
      `${shown(shadow.modelServerName)} already gets requests of this rule, and would get some twice`,
      'copy to another ModelServer, or remove the shadow',
    );
  }
}

function* stringMatchRules(match: StringMatch, path: string): Iterable<Problem> {
  const ways = (['exact', 'prefix', 'regex'] as const).filter((way) => match[way] !== undefined && match[way] !== '');
  if (ways.length > 1) {
    yield warning(path, 'model-route/several-matches', `of ${ways.join(' and ')} only ${ways[0]} counts`, 'keep one of them');
  }
  if (match.regex === undefined) return;
  try {
    RE2JS.compile(match.regex);
  } catch (cause) {
    yield error(
      `${path}.regex`,
      'model-route/regex',
      `${shown(match.regex)} is no RE2 expression (${cause instanceof Error ? cause.message : String(cause)})`,
      'correct it; RE2 has no look-around and no back-references',
    );
  }
}

function* targetRules(target: TargetModel, path: string, hasAdapters: boolean): Iterable<Problem> {
  const { modelServerName = '', externalModelProviderName = '' } = target;
  if ((modelServerName !== '') === (externalModelProviderName !== '')) {
    yield error(
      path,
      'model-route/one-target',
      modelServerName === '' ? 'the target names nothing' : 'the target names both a ModelServer and an ExternalModelProvider',
      'set exactly one of modelServerName and externalModelProviderName',
    );
  } else if (hasAdapters && externalModelProviderName !== '') {
    yield error(
      `${path}.externalModelProviderName`,
      'model-route/external-adapter',
      `${shown(externalModelProviderName)} is no ModelServer, and the route serves LoRA adapters`,
      'set modelServerName, or remove loraAdapters',
    );
  }
}
