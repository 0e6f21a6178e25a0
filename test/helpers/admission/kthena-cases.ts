import { disaggregatedBooster, modelBooster, modelServing, withFields } from '../api-objects';
import { type AdmissionCase, accepted, refused } from './admission-case';

type Fields = Readonly<Record<string, unknown>>;
const role = 'spec.template.roles[0]';
const serving = (fields: Fields) => withFields(modelServing, fields);
const rolling = (fields: Fields) => serving({ 'spec.rolloutStrategy.type': 'RoleRollingUpdate', ...fields });
const groups = 'spec.rolloutStrategy.rollingUpdateConfiguration';
const grouped = (config: object, fields: Fields = {}) =>
  serving({ 'spec.rolloutStrategy': { type: 'ServingGroupRollingUpdate', rollingUpdateConfiguration: config }, ...fields });
const gang = 'spec.template.gangPolicy.minRoleReplicas';
const container = (image: string) => ({ spec: { containers: [{ name: 'main', image }] } });

const servings: readonly AdmissionCase[] = [
  accepted('a serving', modelServing),
  accepted('a serving with workers', serving({ [`${role}.workerReplicas`]: 2, [`${role}.workerTemplate`]: container('a:1') })),
  accepted('a serving with no replicas', serving({ 'spec.replicas': 0 })),
  accepted('a serving that replaces groups', grouped({ maxUnavailable: '50%', partition: '100%' })),
  accepted('a serving that replaces roles', rolling({ [`${role}.maxUnavailable`]: 2, [`${role}.partition`]: '50%' })),
  accepted('a serving in a gang', serving({ [gang]: { server: 2 } })),
  accepted(
    'a serving whose container has no image',
    serving({ [`${role}.entryTemplate`]: { spec: { containers: [{ name: 'main' }] } } }),
  ),
  refused(
    'a serving whose name begins with a digit',
    serving({ 'metadata.name': '1chat' }),
    'metadata.name',
    'pods of role server would be named like "1chat-2-server-2-0"; use a name that begins with a letter',
  ),
  refused(
    'a serving whose name is too long',
    serving({ 'metadata.name': 'c'.repeat(60) }),
    'metadata.name',
    'leaves pod names at most 63 characters',
  ),
  refused(
    'a serving of a role in capitals',
    serving({ [`${role}.name`]: 'Server' }),
    `${role}.name`,
    '"Server" is no name for pods',
  ),
  refused(
    'a serving of one role twice',
    serving({ 'spec.template.roles': [modelServing.spec.template.roles[0], modelServing.spec.template.roles[0]] }),
    'spec.template.roles[1].name',
    'roles name must be unique',
  ),
  refused('a serving of no roles', serving({ 'spec.template.roles': [] }), 'spec.template.roles', 'should have at least 1 items'),
  refused(
    'a serving with fewer than no replicas',
    serving({ 'spec.replicas': -1 }),
    'spec.replicas',
    'should be a non-negative integer',
  ),
  refused(
    'a serving of a role with fewer than no replicas',
    serving({ [`${role}.replicas`]: -1 }),
    `${role}.replicas`,
    '-1 is negative',
  ),
  refused(
    'a serving of a role with fewer than no workers',
    serving({ [`${role}.workerReplicas`]: -2 }),
    `${role}.workerReplicas`,
    '-2 is negative',
  ),
  refused(
    'a serving that does not say what its workers are',
    serving({ [`${role}.workerReplicas`]: 3 }),
    `${role}.workerTemplate`,
    'missing, and there are 3 workers',
  ),
  refused(
    'a serving with an image of spaces',
    serving({ [`${role}.entryTemplate`]: container('a b') }),
    `${role}.entryTemplate.spec.containers[0].image`,
    '"a b" has spaces',
  ),
  refused(
    'a serving with a blank image',
    serving({ [`${role}.entryTemplate`]: container('  ') }),
    `${role}.entryTemplate.spec.containers[0].image`,
    'has spaces; write the image without spaces',
  ),
  refused(
    'a serving with workers with an image of spaces',
    serving({ [`${role}.workerReplicas`]: 1, [`${role}.workerTemplate`]: container(' a') }),
    `${role}.workerTemplate.spec.containers[0].image`,
    '" a" has spaces',
  ),
  refused(
    'a serving that replaces groups and says how to replace roles',
    serving({ [`${role}.partition`]: 1 }),
    `${role}.partition`,
    'only goes with RoleRollingUpdate',
  ),
  refused(
    'a serving that replaces roles and says how to replace groups',
    rolling({ [groups]: { partition: 1 } }),
    groups,
    'only goes with ServingGroupRollingUpdate',
  ),
  refused(
    'a serving that replaces roles and makes groups anew',
    rolling({ 'spec.recoveryPolicy': 'ServingGroupRecreate' }),
    'spec.recoveryPolicy',
    'ServingGroupRecreate does not go with RoleRollingUpdate',
  ),
  refused(
    'a serving that replaces fewer groups than none',
    grouped({ maxUnavailable: -1 }),
    `${groups}.maxUnavailable`,
    '-1 is no amount',
  ),
  refused(
    'a serving that replaces more than all groups',
    grouped({ maxUnavailable: '101%' }),
    `${groups}.maxUnavailable`,
    '"101%" is no amount; use a whole number from 0, or a percentage from 0% to 100%',
  ),
  refused(
    'a serving that replaces a word of groups',
    grouped({ partition: 'half' }),
    `${groups}.partition`,
    '"half" is no amount',
  ),
  refused(
    'a serving that replaces no group',
    grouped({ maxUnavailable: 0 }),
    `${groups}.maxUnavailable`,
    '0 of 2 replicas is 0; allow at least one',
  ),
  refused(
    'a serving that replaces a share of groups that is none',
    grouped({ maxUnavailable: '49%' }),
    `${groups}.maxUnavailable`,
    '"49%" of 2 replicas is 0',
  ),
  refused(
    'a serving that replaces a word of roles',
    rolling({ [`${role}.maxUnavailable`]: 'all' }),
    `${role}.maxUnavailable`,
    '"all" is no amount',
  ),
  refused(
    'a serving that leaves a negative number of roles',
    rolling({ [`${role}.partition`]: -1 }),
    `${role}.partition`,
    '-1 is no amount',
  ),
  refused(
    'a serving that replaces no role',
    rolling({ [`${role}.maxUnavailable`]: '10%' }),
    `${role}.maxUnavailable`,
    '"10%" of 2 replicas is 0',
  ),
  refused(
    'a serving that replaces more roles than there are',
    rolling({ [`${role}.maxUnavailable`]: 3 }),
    `${role}.maxUnavailable`,
    "3 is more than the role's 2 replicas; use at most 2",
  ),
  refused(
    'a serving in a gang with nobody',
    serving({ [gang]: { other: 1 } }),
    `${gang}.other`,
    'there is no role "other"; use one of server',
  ),
  refused(
    'a serving in a gang that is too large',
    serving({ [gang]: { server: 3 } }),
    `${gang}.server`,
    "3 is more than the role's 2 replicas; use at most 2",
  ),
  refused('a serving in a gang of fewer than none', serving({ [gang]: { server: -1 } }), `${gang}.server`, '-1 is negative'),
];

const backend = 'spec.backend';
const workers = `${backend}.workers`;
const booster = (fields: Fields) => withFields(modelBooster, fields);
const disaggregated = (fields: Fields) => withFields(disaggregatedBooster, fields);
const [prefill, decode] = [`${workers}[0].config`, `${workers}[1].config`];
const transfer = (value: unknown) => ({ 'kv-transfer-config': typeof value === 'string' ? value : JSON.stringify(value) });
const onClaim = (modelURI: string, cacheURI: string | undefined) =>
  booster({ [`${backend}.modelURI`]: modelURI, [`${backend}.cacheURI`]: cacheURI });
const nixl = (part: string) => transfer({ kv_connector: 'NixlConnector', kv_role: part });

const boosters: readonly AdmissionCase[] = [
  accepted('a booster', modelBooster),
  accepted('a booster of prefill and decode', disaggregatedBooster),
  accepted('a booster without transfer', disaggregated({ [prefill]: {}, [decode]: {} })),
  accepted('a booster on a port as text', booster({ [`${prefill}.port`]: '08000' })),
  accepted(
    'a booster with two names of one transfer',
    disaggregated({
      [prefill]: transfer({ kv_connector: 'MooncakeConnector', kv_role: 'kv_both' }),
      [decode]: transfer({ kv_connector: 'MooncakeConnectorV1', kv_role: 'kv_both', kv_buffer_size: 5e9, kv_ip: null }),
    }),
  ),
  accepted(
    'a booster with a transfer of nested settings',
    disaggregated({
      [prefill]: transfer({ kv_connector_extra_config: { a: [1] }, kv_connector: 'NixlConnector', kv_role: 'kv_both' }),
      [decode]: transfer('{ "kv_role" : "kv_consumer",\n "kv_connector": "NixlConnector" }'),
    }),
  ),
  accepted('a booster of a model on a claim', onClaim('pvc://models/./qwen/', 'pvc:///models/')),
  refused(
    'a booster with too many replicas',
    booster({ [`${backend}.replicas`]: 1_000_001 }),
    `${backend}.replicas`,
    'less than or equal to 1000000',
  ),
  refused('a booster with an image of spaces', booster({ [`${workers}[0].image`]: 'a b' }), `${workers}[0].image`, 'has spaces'),
  refused(
    'a booster with two servers',
    booster({ [`${workers}[1]`]: { type: 'server' } }),
    workers,
    'there are 2 workers; a vLLM backend has exactly one',
  ),
  refused(
    'a booster that serves by prefill',
    booster({ [`${workers}[0].type`]: 'prefill' }),
    `${workers}[0].type`,
    '"prefill" does not go with vLLM; use server, or the type vLLMDisaggregated',
  ),
  refused(
    'a booster of prefill, decode and server',
    disaggregated({ [`${workers}[2]`]: { type: 'server' } }),
    `${workers}[2].type`,
    '"server" does not go with vLLMDisaggregated; use prefill or decode',
  ),
  refused('a booster of another engine', booster({ [`${backend}.type`]: 'MindIE' }), `${backend}.type`, 'supported values'),
  refused(
    'a booster on port 0',
    booster({ [`${prefill}.port`]: 0 }),
    workers,
    'invalid port 0 for worker server; give all workers the same port from 1 to 65535',
  ),
  refused(
    'a booster on a port of words',
    booster({ [`${prefill}.port`]: 'http' }),
    workers,
    'invalid port "http" for worker server',
  ),
  refused(
    'a booster on two ports',
    disaggregated({ [`${prefill}.port`]: 8001 }),
    workers,
    'workers use different engine ports: 8001 and 8000',
  ),
  refused(
    'a booster of a model above its claim',
    onClaim('pvc://models/../x', 'pvc://models'),
    `${backend}.modelURI`,
    '"pvc://models/../x" has a .. in its path',
  ),
  refused(
    'a booster of a model on a claim without cache',
    onClaim('pvc://models/x', undefined),
    `${backend}.cacheURI`,
    'the model is on a claim and the cache is not',
  ),
  refused(
    'a booster of a model on a claim with a cache elsewhere',
    onClaim('pvc://models/x', 'hostpath:///x'),
    `${backend}.cacheURI`,
    'the model is on a claim and the cache is not',
  ),
  refused(
    'a booster with a cache below a claim',
    onClaim('pvc://models/x', 'pvc://models/x'),
    `${backend}.cacheURI`,
    '"pvc://models/x" names no single claim',
  ),
  refused(
    'a booster of a model on another claim',
    onClaim('pvc://other/x', 'pvc://models'),
    `${backend}.modelURI`,
    '"/other/x" is not below /models, where the cache is mounted; write pvc://models/<path>',
  ),
  refused(
    'a booster with two prefills',
    disaggregated({ [`${workers}[2]`]: { type: 'prefill' } }),
    workers,
    'there is more than one prefill worker',
  ),
  refused(
    'a booster with two decodes',
    disaggregated({ [`${workers}[2]`]: { type: 'decode' } }),
    workers,
    'there is more than one decode worker',
  ),
  refused(
    'a booster whose prefill alone transfers',
    disaggregated({ [decode]: {} }),
    workers,
    'only the prefill worker has a kv-transfer-config',
  ),
  refused(
    'a booster whose decode alone transfers',
    disaggregated({ [prefill]: {} }),
    workers,
    'only the decode worker has a kv-transfer-config',
  ),
  refused(
    'a booster with two transfers',
    disaggregated({ [decode]: transfer({ kv_connector: 'LMCacheConnectorV1', kv_role: 'kv_both' }) }),
    workers,
    'the workers use different KV connectors: nixl and lmcache',
  ),
  ...(
    [
      ['prefill', prefill, 'kv_consumer', 'use kv_producer or kv_both'],
      ['decode', decode, 'kv_producer', 'use kv_consumer or kv_both'],
    ] as const
  ).flatMap(([name, path, part, parts]) => [
    refused(
      `a booster whose ${name} has a transfer that is no text`,
      disaggregated({ [path]: { 'kv-transfer-config': { kv_connector: 'NixlConnector' } } }),
      workers,
      `kv-transfer-config of the ${name} worker is no string`,
    ),
    refused(
      `a booster whose ${name} has a transfer that is no JSON`,
      disaggregated({ [path]: transfer("{'kv_connector': 'NixlConnector'}") }),
      workers,
      `kv-transfer-config of the ${name} worker is no JSON`,
    ),
    refused(
      `a booster whose ${name} has no connector`,
      disaggregated({ [path]: transfer({ kv_role: 'kv_both' }) }),
      workers,
      `kv-transfer-config of the ${name} worker has no kv_connector`,
    ),
    refused(
      `a booster whose ${name} has no part`,
      disaggregated({ [path]: transfer({ kv_connector: 'NixlConnector' }) }),
      workers,
      `kv-transfer-config of the ${name} worker has no kv_role`,
    ),
    refused(
      `a booster whose ${name} has an unknown connector`,
      disaggregated({ [path]: transfer({ kv_connector: 'P2pNcclConnector', kv_role: 'kv_both' }) }),
      workers,
      'unsupported KV connector P2pNcclConnector; supported are LMCacheConnectorV1, MooncakeConnector',
    ),
    refused(
      `a booster whose ${name} has the other part`,
      disaggregated({ [path]: nixl(part) }),
      workers,
      `the ${name} worker has kv_role ${part}; ${parts}`,
    ),
  ]),
];

/** What the kinds of Kthena's controllers are tried with. */
export const kthenaCases: readonly AdmissionCase[] = [...servings, ...boosters];
