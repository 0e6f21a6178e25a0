import { decodeObject } from '../../../src/api/decode-object';
import { disaggregatedBooster, modelBooster, modelServing, withFields } from '../../helpers/api-objects';

type Row = readonly [sentence: string, fields: Readonly<Record<string, unknown>>, findings: readonly string[]];

const found = (object: object) => decodeObject(object).findings.map(({ code, field }) => `${code} ${field}`);

describe('a ModelServing', () => {
  const role = 'spec.template.roles[0]';
  const rolling = 'spec.rolloutStrategy.rollingUpdateConfiguration';
  const byRole = { 'spec.rolloutStrategy': { type: 'RoleRollingUpdate' } };
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['makes names that pods can have', { 'metadata.name': `a${'b'.repeat(60)}` }, ['model-serving/name metadata.name']],
    ['has a name that begins with a letter', { 'metadata.name': '1chat' }, ['model-serving/name metadata.name']],
    ['has roles with names of pods', { [`${role}.name`]: 'Server' }, [`model-serving/role-name ${role}.name`]],
    ['has short role names', { [`${role}.name`]: 'abcdefghijklm' }, [`schema/length ${role}.name`]],
    [
      'has no role twice',
      { 'spec.template.roles[1]': modelServing.spec.template.roles[0] },
      ['model-serving/duplicate-role spec.template.roles[1].name'],
    ],
    ['has at least one role', { 'spec.template.roles': [] }, ['schema/length spec.template.roles']],
    [
      'says how many workers each role has',
      { [`${role}.workerReplicas`]: undefined },
      [`schema/required ${role}.workerReplicas`],
    ],
    [
      'has no image with spaces',
      { [`${role}.entryTemplate.spec.containers[0].image`]: 'a b' },
      [`model-serving/image ${role}.entryTemplate.spec.containers[0].image`],
    ],
    [
      'has no blank image',
      { [`${role}.entryTemplate.spec.containers[0].image`]: '\t' },
      [`model-serving/image ${role}.entryTemplate.spec.containers[0].image`],
    ],
    [
      'has no variable twice in a container',
      { [`${role}.entryTemplate.spec.containers[0].env`]: [{ name: 'A' }, { name: 'A' }] },
      [`schema/duplicate ${role}.entryTemplate.spec.containers[0].env[1]`],
    ],
    ['has no negative replicas', { 'spec.replicas': -1 }, ['model-serving/negative spec.replicas']],
    ['has no negative replicas of a role', { [`${role}.replicas`]: -1 }, [`model-serving/negative ${role}.replicas`]],
    ['has no negative workers', { [`${role}.workerReplicas`]: -1 }, [`model-serving/negative ${role}.workerReplicas`]],
    ['says what its workers are', { [`${role}.workerReplicas`]: 1 }, [`model-serving/worker-template ${role}.workerTemplate`]],
    ['updates at least one group', { [`${rolling}.maxUnavailable`]: 0 }, [`model-serving/rollout ${rolling}.maxUnavailable`]],
    ['rounds percentages down', { [`${rolling}.maxUnavailable`]: '40%' }, [`model-serving/rollout ${rolling}.maxUnavailable`]],
    ['takes half of two', { [`${rolling}.maxUnavailable`]: '50%' }, []],
    [
      'has amounts that are some',
      { [`${rolling}.maxUnavailable`]: 'x', [`${rolling}.partition`]: -1 },
      [`model-serving/amount ${rolling}.maxUnavailable`, `model-serving/amount ${rolling}.partition`],
    ],
    ['has percentages up to 100', { [`${rolling}.maxUnavailable`]: '101%' }, [`model-serving/amount ${rolling}.maxUnavailable`]],
    [
      'has no limits of groups when it updates roles',
      { ...byRole, [`${rolling}.partition`]: 1 },
      [`model-serving/rollout ${rolling}`],
    ],
    ['may update roles', byRole, []],
    [
      'has no partition of a role when it updates groups',
      { [`${role}.partition`]: 1 },
      [`model-serving/rollout ${role}.partition`],
    ],
    [
      'updates at least one instance',
      { ...byRole, [`${role}.maxUnavailable`]: 0 },
      [`model-serving/rollout ${role}.maxUnavailable`],
    ],
    [
      'updates no more instances than there are',
      { ...byRole, [`${role}.maxUnavailable`]: 3 },
      [`model-serving/rollout ${role}.maxUnavailable`],
    ],
    [
      'does not recreate groups when it updates roles',
      { ...byRole, 'spec.recoveryPolicy': 'ServingGroupRecreate' },
      ['model-serving/recovery spec.recoveryPolicy'],
    ],
    [
      'gangs roles that it has',
      { 'spec.template.gangPolicy.minRoleReplicas': { decode: 1 } },
      ['model-serving/gang spec.template.gangPolicy.minRoleReplicas.decode'],
    ],
    [
      'gangs no more instances than there are',
      { 'spec.template.gangPolicy.minRoleReplicas': { server: 3 } },
      ['model-serving/gang spec.template.gangPolicy.minRoleReplicas.server'],
    ],
    [
      'gangs no negative number',
      { 'spec.template.gangPolicy.minRoleReplicas': { server: -1 } },
      ['model-serving/negative spec.template.gangPolicy.minRoleReplicas.server'],
    ],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(modelServing, fields))).toEqual(findings);
  });
});

describe('a ModelBooster', () => {
  const backend = 'spec.backend';
  const claim = { [`${backend}.modelURI`]: 'pvc://data/models/m', [`${backend}.cacheURI`]: 'pvc://data' };
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['has an engine that is known', { [`${backend}.type`]: 'SGLang' }, [`schema/enum ${backend}.type`]],
    ['says how many groups', { [`${backend}.replicas`]: undefined }, [`schema/required ${backend}.replicas`]],
    ['has at most a million groups', { [`${backend}.replicas`]: 1_000_001 }, [`schema/range ${backend}.replicas`]],
    ['has one worker', { [`${backend}.workers[1]`]: { type: 'server' } }, [`model-booster/workers ${backend}.workers`]],
    [
      'has a worker that serves',
      { [`${backend}.workers[0].type`]: 'decode' },
      [`model-booster/workers ${backend}.workers[0].type`],
    ],
    [
      'has no image with spaces',
      { [`${backend}.workers[0].image`]: 'a\tb' },
      [`model-booster/image ${backend}.workers[0].image`],
    ],
    [
      'has a port that is one',
      { [`${backend}.workers[0].config`]: { port: '70000' } },
      [`model-booster/port ${backend}.workers`],
    ],
    ['has a known kind of model source', { [`${backend}.modelURI`]: 'http://a' }, [`schema/pattern ${backend}.modelURI`]],
    ['may read the model from its claim', claim, []],
    [
      'mounts the claim of the model',
      { ...claim, [`${backend}.cacheURI`]: 'hostpath:///c' },
      [`model-booster/pvc ${backend}.cacheURI`],
    ],
    [
      'mounts the whole claim',
      { ...claim, [`${backend}.cacheURI`]: 'pvc://data/sub' },
      [`model-booster/pvc ${backend}.cacheURI`],
    ],
    ['reads below the claim', { ...claim, [`${backend}.cacheURI`]: 'pvc://other' }, [`model-booster/pvc ${backend}.modelURI`]],
    [
      'takes no look-alike for the claim',
      { ...claim, [`${backend}.modelURI`]: 'pvc://database/m' },
      [`model-booster/pvc ${backend}.modelURI`],
    ],
    [
      'does not leave the claim',
      { ...claim, [`${backend}.modelURI`]: 'pvc://data/../x' },
      [`model-booster/pvc ${backend}.modelURI`, `model-booster/pvc ${backend}.modelURI`],
    ],
    ['has no variable twice', { [`${backend}.env`]: [{ name: 'A' }, { name: 'A' }] }, [`schema/duplicate ${backend}.env[1]`]],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(modelBooster, fields))).toEqual(findings);
  });

  const both = (connector: string) => JSON.stringify({ kv_connector: connector, kv_role: 'kv_both' });
  const kv = (worker: number, config: unknown) => ({
    [`${backend}.workers[${worker}].config`]: { 'kv-transfer-config': config },
  });
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['may have no KV transfer', { ...kv(0, undefined), ...kv(1, undefined) }, []],
    ['may be without one side', { [`${backend}.workers`]: [{ type: 'decode' }] }, []],
    [
      'has prefill and decode only',
      { [`${backend}.workers[0].type`]: 'server' },
      [`model-booster/workers ${backend}.workers[0].type`, `model-booster/kv-connector ${backend}.workers`],
    ],
    ['has KV transfer on both sides or none', kv(0, undefined), [`model-booster/kv-connector ${backend}.workers`]],
    [
      'has a connector that is known',
      kv(0, '{"kv_connector":"X","kv_role":"kv_both"}'),
      [`model-booster/kv-connector ${backend}.workers`],
    ],
    [
      'has the same connector on both sides',
      kv(0, '{"kv_connector":"MooncakeConnector","kv_role":"kv_both"}'),
      [`model-booster/kv-connector ${backend}.workers`],
    ],
    [
      'has roles that fit',
      kv(0, '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'),
      [`model-booster/kv-connector ${backend}.workers`],
    ],
    ['may move its KV both ways', { ...kv(0, both('NixlConnector')), ...kv(1, both('NixlConnector')) }, []],
    ['may name one transfer in two ways', { ...kv(0, both('MooncakeConnector')), ...kv(1, both('MooncakeConnectorV1')) }, []],
    [
      'decodes with no producer of KV',
      kv(1, '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'),
      [`model-booster/kv-connector ${backend}.workers`],
    ],
    ['names a role', kv(0, '{"kv_connector":"NixlConnector"}'), [`model-booster/kv-connector ${backend}.workers`]],
    [
      'has one prefill worker',
      { [`${backend}.workers[2]`]: { type: 'prefill' } },
      [`model-booster/kv-connector ${backend}.workers`],
    ],
    [
      'is read by the name with dashes only',
      { ...kv(0, undefined), [`${backend}.workers[1].config`]: { kv_transfer_config: both('NixlConnector') } },
      [],
    ],
    ['has KV transfer as text', kv(0, { kv_connector: 'NixlConnector' }), [`model-booster/kv-connector ${backend}.workers`]],
    ['has KV transfer as JSON', kv(0, 'null'), [`model-booster/kv-connector ${backend}.workers`]],
    ['has one port', { [`${backend}.workers[0].config.port`]: 8001 }, [`model-booster/port ${backend}.workers`]],
  ])('that is disaggregated %s', (_sentence, fields, findings) => {
    expect(found(withFields(disaggregatedBooster, fields))).toEqual(findings);
  });
});
