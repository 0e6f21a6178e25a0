import { checkChange } from '../../../src/api/check-change';
import { decodeObject } from '../../../src/api/decode-object';
import { modelRoute, modelServing, withField } from '../../helpers/api-objects';

function decoded(object: object) {
  const outcome = decodeObject(object);
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
  return outcome.value;
}

describe('checkChange', () => {
  const adapters = withField(modelRoute, 'spec.loraAdapters', ['a']);
  const gang = 'spec.template.gangPolicy';
  const least = `${gang}.minRoleReplicas`;
  it.each<readonly [sentence: string, before: object, after: object, findings: readonly string[]]>([
    ['nothing changes', modelRoute, modelRoute, []],
    ['a model is renamed', modelRoute, withField(modelRoute, 'spec.modelName', 'b'), ['model-route/immutable spec.modelName']],
    ['a model name is removed', adapters, withField(adapters, 'spec.modelName', undefined), []],
    ['a model name is added', withField(adapters, 'spec.modelName', undefined), adapters, []],
    ['gang scheduling is added', modelServing, withField(modelServing, least, { server: 1 }), []],
    ['gang scheduling is removed', withField(modelServing, gang, {}), modelServing, [`model-serving/immutable ${gang}`]],
    [
      'the gang changes',
      withField(modelServing, least, { server: 1 }),
      withField(modelServing, least, { server: 2 }),
      [`model-serving/immutable ${least}`],
    ],
    ['the gang is emptied', withField(modelServing, least, { server: 1 }), withField(modelServing, gang, {}), []],
    ['replicas change', modelServing, withField(modelServing, 'spec.replicas', 5), []],
    ['the objects are of two kinds', modelRoute, modelServing, []],
  ])('%s', (_sentence, before, after, findings) => {
    expect(checkChange(decoded(before), decoded(after)).map(({ code, field }) => `${code} ${field}`)).toEqual(findings);
  });
});
