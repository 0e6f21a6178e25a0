import { decodeObject } from '../../../src/api/decode-object';
import { externalModelProvider, modelRoute, modelServer, withFields } from '../../helpers/api-objects';

type Row = readonly [sentence: string, fields: Readonly<Record<string, unknown>>, findings: readonly string[]];

const found = (object: object) =>
  decodeObject(object).findings.map(({ severity, code, field }) => `${severity} ${code} ${field}`);

const target = 'spec.rules[0].targetModels[0]';

describe('a ModelRoute', () => {
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['may name adapters only', { 'spec.modelName': undefined, 'spec.loraAdapters': ['a'] }, []],
    ['needs a model or an adapter', { 'spec.modelName': undefined }, ['error model-route/no-model spec']],
    ['needs one that is not empty', { 'spec.modelName': '', 'spec.loraAdapters': [] }, ['error model-route/no-model spec']],
    ['has no empty adapter', { 'spec.loraAdapters': ['a', ''] }, ['error model-route/empty-adapter spec.loraAdapters[1]']],
    ['has ten adapters at most', { 'spec.loraAdapters': Array(11).fill('a') }, ['error schema/length spec.loraAdapters']],
    ['may have no rules', { 'spec.rules': [] }, []],
    ['must say its rules', { 'spec.rules': undefined }, ['error schema/required spec.rules']],
    ['has targets in each rule', { 'spec.rules[0].targetModels': [] }, ['error schema/length spec.rules[0].targetModels']],
    ['sends to something', { [target]: {} }, [`error model-route/one-target ${target}`]],
    ['sends to one thing', { [`${target}.externalModelProviderName`]: 'cloud' }, [`error model-route/one-target ${target}`]],
    ['takes an empty name as none', { [`${target}.externalModelProviderName`]: '' }, []],
    [
      'sends adapters to no provider',
      { 'spec.loraAdapters': ['a'], [target]: { externalModelProviderName: 'cloud' } },
      [`error model-route/external-adapter ${target}.externalModelProviderName`],
    ],
    ['has some weight', { [`${target}.weight`]: 0 }, ['error model-route/no-weight spec.rules[0].targetModels']],
    ['has no weight above 100', { [`${target}.weight`]: 101 }, [`error schema/range ${target}.weight`]],
    [
      'has RE2 expressions',
      { 'spec.rules[0].modelMatch': { uri: { regex: '(?=a)' }, headers: { 'x-a': { regex: '(' } } } },
      [
        'error model-route/regex spec.rules[0].modelMatch.headers.x-a.regex',
        'error model-route/regex spec.rules[0].modelMatch.uri.regex',
      ],
    ],
    ['may use inline flags of RE2', { 'spec.rules[0].modelMatch': { uri: { regex: '(?i)^/V1(?P<rest>.*)$' } } }, []],
    [
      'tells when only one of several ways to match counts',
      { 'spec.rules[0].modelMatch': { uri: { exact: '/a', regex: 'b' } } },
      ['warning model-route/several-matches spec.rules[0].modelMatch.uri'],
    ],
    [
      'tells of rules that are never reached',
      { 'spec.rules[1]': { targetModels: [{ modelServerName: 'b' }] } },
      ['warning model-route/unreachable-rules spec.rules[0]'],
    ],
    ['may copy its requests to another server', { 'spec.rules[0].shadow': { modelServerName: 'next', percent: 5 } }, []],
    [
      'tells of copies to a server that has the request already',
      { 'spec.rules[0].shadow': { modelServerName: 'chat' } },
      ['warning model-route/shadow-of-itself spec.rules[0].shadow.modelServerName'],
    ],
    [
      'copies to a server',
      { 'spec.rules[0].shadow': { modelServerName: '' } },
      ['error schema/length spec.rules[0].shadow.modelServerName'],
    ],
    [
      'copies no more than all',
      { 'spec.rules[0].shadow': { modelServerName: 'next', percent: 101 } },
      ['error schema/range spec.rules[0].shadow.percent'],
    ],
    ['may keep sessions on a pod', { 'spec.sessionAffinity': { source: 'header', name: 'x-session', ttl: '30m' } }, []],
    ['may keep sessions by any parameter', { 'spec.sessionAffinity': { source: 'query', name: 'user id' } }, []],
    [
      'keeps sessions by something that requests have',
      { 'spec.sessionAffinity': { source: 'body', name: 'user' } },
      ['error schema/enum spec.sessionAffinity.source'],
    ],
    ['names it', { 'spec.sessionAffinity': { source: 'claim' } }, ['error schema/required spec.sessionAffinity.name']],
    [
      'names headers as HTTP does',
      { 'spec.sessionAffinity': { source: 'header', name: 'x session' } },
      ['error model-route/affinity-name spec.sessionAffinity.name'],
    ],
    [
      'names cookies as HTTP does',
      { 'spec.sessionAffinity': { source: 'cookie', name: 'a=b' } },
      ['error model-route/affinity-name spec.sessionAffinity.name'],
    ],
    [
      'remembers sessions for a time',
      { 'spec.sessionAffinity': { source: 'header', name: 'x-session', ttl: '0s' } },
      ['error model-route/affinity-ttl spec.sessionAffinity.ttl'],
    ],
    [
      'remembers them for a time that can be read',
      { 'spec.sessionAffinity': { source: 'header', name: 'x-session', ttl: 'long' } },
      ['error value/duration spec.sessionAffinity.ttl'],
    ],
    ['counts tokens per known unit', { 'spec.rateLimit': { unit: 'week' } }, ['error schema/enum spec.rateLimit.unit']],
    [
      'limits to at least one token',
      { 'spec.rateLimit': { inputTokensPerUnit: 0 } },
      ['error schema/range spec.rateLimit.inputTokensPerUnit'],
    ],
    [
      'names the address of Redis',
      { 'spec.rateLimit': { global: { redis: {} } } },
      ['error schema/required spec.rateLimit.global.redis.address'],
    ],
    ['names Gateways', { 'spec.parentRefs': [{ name: '', kind: 'G' }] }, ['error schema/length spec.parentRefs[0].name']],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(modelRoute, fields))).toEqual(findings);
  });
});

describe('a ModelServer', () => {
  const selector = 'spec.workloadSelector';
  const pdGroup = { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['has a spec', { spec: undefined }, ['error schema/required spec']],
    ['selects by a label', { [`${selector}.matchLabels`]: {} }, [`error model-server/no-labels ${selector}.matchLabels`]],
    [
      'selects by labels that say so',
      { [`${selector}.matchLabels`]: undefined },
      [`error model-server/no-labels ${selector}.matchLabels`],
    ],
    [
      'selects by labels that pods can have',
      { [`${selector}.matchLabels`]: { 'a b': 'c', d: 'e f' } },
      [`error metadata/label ${selector}.matchLabels["a b"]`, `error metadata/label ${selector}.matchLabels.d`],
    ],
    ['may pair prefill and decode', { [`${selector}.pdGroup`]: pdGroup }, []],
    [
      'names the label that pairs them',
      { [`${selector}.pdGroup`]: { ...pdGroup, groupKey: '' } },
      [`error model-server/group-key ${selector}.pdGroup.groupKey`],
    ],
    [
      'tells prefill pods from others',
      { [`${selector}.pdGroup`]: { ...pdGroup, prefillLabels: {} } },
      [`error model-server/no-labels ${selector}.pdGroup.prefillLabels`],
    ],
    ['runs a known engine', { 'spec.inferenceEngine': 'vllm' }, ['error schema/enum spec.inferenceEngine']],
    ['listens on a port', { 'spec.workloadPort.port': 65536 }, ['error schema/range spec.workloadPort.port']],
    [
      'has durations that Go can read',
      { 'spec.trafficPolicy': { timeout: '5' } },
      ['error value/duration spec.trafficPolicy.timeout'],
    ],
    ['moves KV cache in a known way', { 'spec.kvConnector': { type: 'sglang' } }, ['error schema/enum spec.kvConnector.type']],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(modelServer, fields))).toEqual(findings);
  });
});

describe('an ExternalModelProvider', () => {
  const secret = 'spec.auth.secretRef';
  it.each<Row>([
    ['may be as short as this', {}, []],
    ['may have no credential', { 'spec.auth': undefined }, []],
    ['is reached by https', { 'spec.baseURL': 'http://a.example' }, ['error schema/pattern spec.baseURL']],
    ['has a host', { 'spec.baseURL': 'https://:443/' }, ['error external-model-provider/base-url spec.baseURL']],
    [
      'has no user in its URL',
      { 'spec.baseURL': 'https://me@a.example' },
      ['error external-model-provider/base-url spec.baseURL'],
    ],
    [
      'has no query in its URL',
      { 'spec.baseURL': 'https://a.example/?k=v' },
      ['error external-model-provider/base-url spec.baseURL'],
    ],
    [
      'has no fragment in its URL',
      { 'spec.baseURL': 'https://a.example/#' },
      ['error external-model-provider/base-url spec.baseURL'],
    ],
    [
      'sets no header that the router sets',
      { 'spec.headers': { AUTHORIZATION: 'x', 'x-fine': 'y' } },
      ['error external-model-provider/reserved-header spec.headers.AUTHORIZATION'],
    ],
    [
      'has header names that HTTP allows',
      { 'spec.headers': { 'a:b': 'x' } },
      ['error external-model-provider/header spec.headers["a:b"]'],
    ],
    [
      'has header values of one line',
      { 'spec.headers': { 'x-a': 'b\r\nc: d' } },
      ['error external-model-provider/header spec.headers.x-a'],
    ],
    ['names the Secret', { [`${secret}.name`]: undefined }, [`error external-model-provider/secret ${secret}.name`]],
    ['names the key', { [`${secret}.key`]: '' }, [`error external-model-provider/secret ${secret}.key`]],
    [
      'needs its credential',
      { [`${secret}.optional`]: true },
      [`error external-model-provider/optional-secret ${secret}.optional`],
    ],
    ['speaks a known protocol', { 'spec.providerType': 'Gemini' }, ['error schema/enum spec.providerType']],
  ])('%s', (_sentence, fields, findings) => {
    expect(found(withFields(externalModelProvider, fields))).toEqual(findings);
  });
});
