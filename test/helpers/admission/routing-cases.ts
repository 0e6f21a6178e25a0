import { externalModelProvider, modelRoute, modelServer, withField, withFields } from '../api-objects';
import { type AdmissionCase, accepted, refused } from './admission-case';

const rules = (...targetModels: object[]) => [{ targetModels }];
const route = (fields: Readonly<Record<string, unknown>>) => withFields(modelRoute, fields);
const server = (fields: Readonly<Record<string, unknown>>) => withFields(modelServer, fields);
const provider = (fields: Readonly<Record<string, unknown>>) => withFields(externalModelProvider, fields);

const pdGroup = { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
const disaggregated = withField(modelServer, 'spec.workloadSelector.pdGroup', pdGroup);
const target = 'spec.rules[0].targetModels';
const [labels, group] = ['spec.workloadSelector.matchLabels', 'spec.workloadSelector.pdGroup'];
const match = (value: object) => route({ 'spec.rules[0].modelMatch': value });

const routes: readonly AdmissionCase[] = [
  accepted('a route', modelRoute),
  accepted('a route for adapters', route({ 'spec.loraAdapters': ['sql'] })),
  accepted('a route for adapters only', route({ 'spec.loraAdapters': ['sql'], 'spec.modelName': '' })),
  accepted('a route without rules', route({ 'spec.rules': [] })),
  accepted(
    'a route whose second target has all of the weight',
    route({ 'spec.rules': rules({ modelServerName: 'a', weight: 0 }, { modelServerName: 'b', weight: 1 }) }),
  ),
  accepted(
    'a route that matches by expressions',
    match({ uri: { regex: '^/v1/(chat|completions)$' }, headers: { a: { regex: '' } } }),
  ),
  accepted(
    'a route that matches by everything else',
    match({ uri: { prefix: '/v1' }, headers: { a: { exact: 'b' }, c: {} }, body: { model: 'm' } }),
  ),
  refused('a route of nothing', route({ 'spec.modelName': '' }), 'spec', 'cannot both be empty'),
  refused(
    'a route with an empty adapter name',
    route({ 'spec.loraAdapters': ['sql', ''] }),
    'spec.loraAdapters[1]',
    '"" is no adapter name; name it or remove it',
  ),
  refused('a route with a rule that leads nowhere', route({ 'spec.rules': rules() }), target, 'should have at least 1 items'),
  refused('a route with a target that names nothing', route({ 'spec.rules': rules({}) }), `${target}[0]`, 'exactly one of'),
  refused(
    'a route with a target that names two',
    route({ 'spec.rules': rules({ modelServerName: 'a', externalModelProviderName: 'b' }) }),
    `${target}[0]`,
    'exactly one of',
  ),
  refused(
    'a route without weight',
    route({ 'spec.rules': rules({ modelServerName: 'a', weight: 0 }) }),
    target,
    'the weights add up to 0',
  ),
  refused(
    'a route with too much weight',
    route({ 'spec.rules': rules({ modelServerName: 'a', weight: 101 }) }),
    `${target}[0].weight`,
    'less than or equal to 100',
  ),
  refused(
    'a route that sends adapters to a provider',
    route({
      'spec.loraAdapters': ['sql'],
      'spec.rules': [
        ...rules({ modelServerName: 'a' }),
        ...rules({ modelServerName: 'b' }, { externalModelProviderName: 'cloud' }),
      ],
    }),
    'spec.rules[1].targetModels[1].externalModelProviderName',
    '"cloud" is no ModelServer',
  ),
  refused(
    'a route with a path expression that does not compile',
    match({ uri: { regex: 'a(' } }),
    'spec.rules[0].modelMatch.uri.regex',
    'missing closing ): `a(`',
  ),
  refused(
    'a route with a look-ahead',
    match({ uri: { regex: 'a(?=b)' } }),
    'spec.rules[0].modelMatch.uri.regex',
    'invalid or unsupported Perl syntax: `(?=`',
  ),
  refused(
    'a route with a header expression that does not compile',
    match({ headers: { ok: { regex: '.' }, bad: { regex: '[' } } }),
    'spec.rules[0].modelMatch.headers.bad.regex',
    'missing closing ]: `[`',
  ),
  refused(
    'a route with a limit of nothing',
    route({ 'spec.rateLimit': { inputTokensPerUnit: 0 } }),
    'spec.rateLimit.inputTokensPerUnit',
    'greater than or equal to 1',
  ),
  refused(
    'a route that remembers sessions for no time',
    route({ 'spec.sessionAffinity': { source: 'header', name: 'x', ttl: '0s' } }),
    'spec.sessionAffinity.ttl',
    'ttl must be above 0',
  ),
  refused(
    'a route that remembers sessions for no duration',
    route({ 'spec.sessionAffinity': { source: 'header', name: 'x', ttl: 'soon' } }),
    'spec.sessionAffinity.ttl',
    'ttl must be above 0',
  ),
  accepted('a route of another class', route({ 'metadata.labels': { 'kvasir.dev/class': 'other' }, 'spec.loraAdapters': [''] })),
  refused(
    'a route of our class',
    route({ 'metadata.labels': { 'kvasir.dev/class': 'kvasir' }, 'spec.loraAdapters': [''] }),
    'spec.loraAdapters[0]',
    '"" is no adapter name',
  ),
];

const servers: readonly AdmissionCase[] = [
  accepted('a server', modelServer),
  accepted('a disaggregated server', disaggregated),
  accepted('a server with a label key of a domain', server({ [labels]: { 'example.com/app': '' } })),
  accepted(
    'a server with deadlines',
    server({ 'spec.trafficPolicy': { timeout: '1m30s', retry: { attempts: 5, retryInterval: '0s' } } }),
  ),
  refused('a server without selector', server({ 'spec.workloadSelector': undefined }), 'spec.workloadSelector', 'Required value'),
  refused('a server without spec', server({ spec: undefined }), 'spec', 'Required value'),
  refused('a server without labels', server({ [labels]: {} }), labels, 'no label is given; name at least one label of the pods'),
  refused(
    'a server with a bad label key',
    server({ [labels]: { app: 'a', 'a b': 'c' } }),
    `${labels}["a b"]`,
    '"a b" is no label key',
  ),
  refused(
    'a server with a label key of 64 letters',
    server({ [labels]: { ['x'.repeat(64)]: 'c' } }),
    `${labels}.${'x'.repeat(64)}`,
    'is no label key',
  ),
  refused(
    'a server with a bad label value',
    server({ [labels]: { app: 'a', b: '-c' } }),
    `${labels}.b`,
    '"-c" is no label value',
  ),
  refused(
    'a server without prefill labels',
    withField(disaggregated, `${group}.prefillLabels`, {}),
    `${group}.prefillLabels`,
    'no label is given',
  ),
  refused(
    'a server without decode labels',
    withField(disaggregated, `${group}.decodeLabels`, {}),
    `${group}.decodeLabels`,
    'no label is given',
  ),
  refused(
    'a server without group key',
    withField(disaggregated, `${group}.groupKey`, ''),
    `${group}.groupKey`,
    'empty; name the label',
  ),
  refused(
    'a server with a bad group key',
    withField(disaggregated, `${group}.groupKey`, 'a/b/c'),
    `${group}.groupKey`,
    '"a/b/c" is no label key',
  ),
  ...(['prefillLabels', 'decodeLabels'] as const).map((field) =>
    refused(
      `a server with a bad label key in ${field}`,
      withField(disaggregated, `${group}.${field}`, { 'a b': 'c' }),
      `${group}.${field}["a b"]`,
      '"a b" is no label key',
    ),
  ),
  refused(
    'a server with a bad prefill label',
    withField(disaggregated, `${group}.prefillLabels`, { role: 'a b' }),
    `${group}.prefillLabels.role`,
    '"a b" is no label value',
  ),
  refused(
    'a server with a bad decode label',
    withField(disaggregated, `${group}.decodeLabels`, { role: 'a b' }),
    `${group}.decodeLabels.role`,
    '"a b" is no label value',
  ),
  refused(
    'a server with a deadline that is no duration',
    server({ 'spec.trafficPolicy.timeout': '10 minutes' }),
    'spec.trafficPolicy.timeout',
    '"10 minutes" is no duration',
  ),
  refused(
    'a server that retries after no duration',
    server({ 'spec.trafficPolicy.retry.retryInterval': '1d' }),
    'spec.trafficPolicy.retry.retryInterval',
    '"1d" is no duration',
  ),
  refused(
    'a server of another engine',
    server({ 'spec.inferenceEngine': 'Other' }),
    'spec.inferenceEngine',
    'supported values: "vLLM", "SGLang"',
  ),
  refused(
    'a server on an impossible port',
    server({ 'spec.workloadPort.port': 65536 }),
    'spec.workloadPort.port',
    'less than or equal to 65535',
  ),
];

const providers: readonly AdmissionCase[] = [
  accepted('a provider', externalModelProvider),
  accepted('a provider without credentials', provider({ 'spec.auth': undefined })),
  accepted(
    'a provider with headers and a port',
    provider({ 'spec.headers': { 'X-Team': 'a' }, 'spec.baseURL': 'https://api.example.com:8443/v1' }),
  ),
  refused('a provider without TLS', provider({ 'spec.baseURL': 'http://api.example.com' }), 'spec.baseURL', 'should match'),
  refused(
    'a provider without a host',
    provider({ 'spec.baseURL': 'https://:443' }),
    'spec.baseURL',
    '"https://:443" is no https URL',
  ),
  refused(
    'a provider with a user in its address',
    provider({ 'spec.baseURL': 'https://me@api.example.com' }),
    'spec.baseURL',
    'has a user, query or fragment',
  ),
  refused(
    'a provider with a query in its address',
    provider({ 'spec.baseURL': 'https://api.example.com/?a=b' }),
    'spec.baseURL',
    'has a user, query or fragment',
  ),
  refused(
    'a provider with a fragment in its address',
    provider({ 'spec.baseURL': 'https://api.example.com/#a' }),
    'spec.baseURL',
    'has a user, query or fragment',
  ),
  refused('a provider of another protocol', provider({ 'spec.providerType': 'Other' }), 'spec.providerType', 'supported values'),
  refused(
    'a provider with an impossible header',
    provider({ 'spec.headers': { 'X-Team': 'a', 'a b': 'c' } }),
    'spec.headers["a b"]',
    '"a b" is no header name',
  ),
  refused(
    'a provider with a reserved header',
    provider({ 'spec.headers': { 'X-Team': 'a', Authorization: 'x' } }),
    'spec.headers.Authorization',
    'Authorization is set by the router',
  ),
  refused(
    'a provider with a header of two lines',
    provider({ 'spec.headers': { 'X-Team': 'a\nb' } }),
    'spec.headers.X-Team',
    'the value has a line break',
  ),
  refused(
    'a provider whose Secret has no name',
    provider({ 'spec.auth.secretRef.name': '' }),
    'spec.auth.secretRef.name',
    'empty; name the Secret',
  ),
  refused(
    'a provider whose Secret has no key',
    provider({ 'spec.auth.secretRef.key': '' }),
    'spec.auth.secretRef.key',
    'empty; name the key in the Secret',
  ),
  refused(
    'a provider whose Secret may be missing',
    provider({ 'spec.auth.secretRef.optional': true }),
    'spec.auth.secretRef.optional',
    'secretRef.optional must be false or unset',
  ),
  refused(
    'a provider with an unknown scheme',
    provider({ 'spec.auth.scheme': 'Digest' }),
    'spec.auth.scheme',
    'supported values',
  ),
];

/** What the kinds of the router are tried with. */
export const routingCases: readonly AdmissionCase[] = [...routes, ...servers, ...providers];
