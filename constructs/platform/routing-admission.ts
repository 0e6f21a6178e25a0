import { RESERVED_HEADERS } from '../../src/api/external-model-provider-rules';
import { type AdmissionRule, durationFormatRule, shownInCel } from './admission-rule';

const PROVIDER = '(has(t.externalModelProviderName) && t.externalModelProviderName != "")';

/** What RE2 of the API server does not compile cannot be computed. */
const COMPILES = (regex: string): string => `"".matches(${regex}) in [true, false]`;
const NO_MATCH = '!has(r.modelMatch)';

const regexRule = (field: string, computes: string): AdmissionRule => ({
  code: 'model-route/regex',
  field,
  computes,
  message: 'is no RE2 expression',
  remedy: 'correct it; RE2 has no look-around and no back-references',
});

/** Rules of ModelRoute that its definition does not have. */
export const modelRouteAdmission: readonly AdmissionRule[] = [
  {
    code: 'model-route/empty-adapter',
    field: 'spec.loraAdapters[]',
    holds: '!has(object.spec.loraAdapters) || object.spec.loraAdapters.all(a, a != "")',
    message: '"" is no adapter name',
    remedy: 'name it or remove it',
  },
  {
    code: 'model-route/no-weight',
    field: 'spec.rules[].targetModels',
    holds: 'object.spec.rules.all(r, r.targetModels.exists(t, !has(t.weight) || t.weight > 0))',
    message: 'the weights add up to 0',
    remedy: 'give one target a weight from 1 to 100, or leave the weights out',
  },
  {
    code: 'model-route/external-adapter',
    field: 'spec.rules[].targetModels[].externalModelProviderName',
    holds: `!has(object.spec.loraAdapters) || size(object.spec.loraAdapters) == 0 || object.spec.rules.all(r, !r.targetModels.exists(t, ${PROVIDER}))`,
    message: {
      cel: `${shownInCel(
        `object.spec.rules.filter(r, r.targetModels.exists(t, ${PROVIDER}))[0].targetModels.filter(t, ${PROVIDER})[0].externalModelProviderName`,
      )} + " is no ModelServer, and the route serves LoRA adapters"`,
    },
    remedy: 'set modelServerName, or remove loraAdapters',
  },
  regexRule(
    'spec.rules[].modelMatch.uri.regex',
    `object.spec.rules.all(r, ${NO_MATCH} || !has(r.modelMatch.uri) || !has(r.modelMatch.uri.regex) || ${COMPILES('r.modelMatch.uri.regex')})`,
  ),
  regexRule(
    'spec.rules[].modelMatch.headers.*.regex',
    `object.spec.rules.all(r, ${NO_MATCH} || !has(r.modelMatch.headers) || r.modelMatch.headers.all(h, !has(r.modelMatch.headers[h].regex) || ${COMPILES('r.modelMatch.headers[h].regex')}))`,
  ),
];

const LABEL_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

/** CEL: whether the expression `key` is a label key. */
const isLabelKey = (key: string): string =>
  `(${key}.matches('^(${DNS_LABEL}(\\\\.${DNS_LABEL})*/)?${LABEL_NAME}$') && size(${key}.split('/')[size(${key}.split('/')) - 1]) <= 63)`;
/** CEL: whether the expression `value` is a label value. */
const isLabelValue = (value: string): string =>
  `(${value} == "" || (size(${value}) <= 63 && ${value}.matches('^${LABEL_NAME}$')))`;

const SELECTOR = 'object.spec.workloadSelector';
const HAS_PD = `has(${SELECTOR}.pdGroup)`;

const TRAFFIC = 'object.spec.trafficPolicy';

/** Rules of ModelServer that its definition does not have. */
export const modelServerAdmission: readonly AdmissionRule[] = [
  ...selectorRules('matchLabels'),
  {
    code: 'model-server/group-key',
    field: 'spec.workloadSelector.pdGroup.groupKey',
    holds: `!${HAS_PD} || ${SELECTOR}.pdGroup.groupKey != ""`,
    message: 'empty',
    remedy: 'name the label that pairs prefill and decode',
  },
  {
    code: 'model-server/group-key',
    field: 'spec.workloadSelector.pdGroup.groupKey',
    holds: `!${HAS_PD} || ${SELECTOR}.pdGroup.groupKey == "" || ${isLabelKey(`${SELECTOR}.pdGroup.groupKey`)}`,
    message: { cel: `${shownInCel(`${SELECTOR}.pdGroup.groupKey`)} + " is no label key"` },
    remedy: 'use [domain/]name of letters, digits, -, _ and .',
  },
  ...selectorRules('pdGroup.prefillLabels', HAS_PD),
  ...selectorRules('pdGroup.decodeLabels', HAS_PD),
  durationFormatRule('spec.trafficPolicy.timeout', `${TRAFFIC}.timeout`, `!has(${TRAFFIC}) || !has(${TRAFFIC}.timeout)`),
  durationFormatRule(
    'spec.trafficPolicy.retry.retryInterval',
    `${TRAFFIC}.retry.retryInterval`,
    `!has(${TRAFFIC}) || !has(${TRAFFIC}.retry) || !has(${TRAFFIC}.retry.retryInterval)`,
  ),
];

/** @param isThere CEL: whether the object that has the labels is there. @default always */
function selectorRules(path: string, isThere?: string): readonly AdmissionRule[] {
  const [labels, field] = [`${SELECTOR}.${path}`, `spec.workloadSelector.${path}`];
  const parentAbsent = isThere === undefined ? '' : `!${isThere} || `;
  const absent = `${parentAbsent}!has(${labels})`;
  const firstBad = (test: string) => `${labels}.filter(k, !${test})[0]`;
  const valid = isLabelValue(`${labels}[k]`);
  return [
    {
      code: 'model-server/no-labels',
      field,
      holds: `${parentAbsent}(has(${labels}) && size(${labels}) > 0)`,
      message: 'no label is given',
      remedy: 'name at least one label of the pods',
    },
    {
      code: 'metadata/label',
      field,
      holds: `${absent} || ${labels}.all(k, ${isLabelKey('k')})`,
      message: { cel: `${shownInCel(firstBad(isLabelKey('k')))} + " is no label key"` },
      remedy: 'use [domain/]name of letters, digits, -, _ and .',
    },
    {
      code: 'metadata/label',
      field: `${field}.*`,
      key: firstBad(valid),
      holds: `${absent} || ${labels}.all(k, ${valid})`,
      message: { cel: `${shownInCel(`${labels}[${firstBad(valid)}]`)} + " is no label value"` },
      remedy: 'use at most 63 letters, digits, -, _ and .',
    },
  ];
}

const URL = 'object.spec.baseURL';
const IS_HTTPS = `(isURL(${URL}) && url(${URL}).getScheme() == "https" && url(${URL}).getHostname() != "")`;
const HEADERS = 'object.spec.headers';
const NO_HEADERS = `!has(${HEADERS})`;
const TOKEN = "k.matches('^[!#$%&\\'*+.^_`|~0-9A-Za-z-]+$')";
const RESERVED = `k.lowerAscii() in ${JSON.stringify([...RESERVED_HEADERS])}`;
const SECRET = 'object.spec.auth.secretRef';

/** Rules of ExternalModelProvider that its definition does not have. */
export const externalModelProviderAdmission: readonly AdmissionRule[] = [
  {
    code: 'external-model-provider/base-url',
    field: 'spec.baseURL',
    holds: IS_HTTPS,
    message: { cel: `${shownInCel(URL)} + " is no https URL"` },
    remedy: 'write it like https://api.example.com',
  },
  {
    code: 'external-model-provider/base-url',
    field: 'spec.baseURL',
    holds: `!${IS_HTTPS} || !${URL}.matches('^https://[^/?#]*@|[?#]')`,
    message: { cel: `${shownInCel(URL)} + " has a user, query or fragment"` },
    remedy: 'leave them out; use auth for credentials',
  },
  {
    code: 'external-model-provider/header',
    field: 'spec.headers',
    holds: `${NO_HEADERS} || ${HEADERS}.all(k, ${TOKEN})`,
    message: { cel: `${shownInCel(`${HEADERS}.filter(k, !${TOKEN})[0]`)} + " is no header name"` },
    remedy: 'rename it',
  },
  {
    code: 'external-model-provider/reserved-header',
    field: 'spec.headers',
    holds: `${NO_HEADERS} || !${HEADERS}.exists(k, ${RESERVED})`,
    message: { cel: `${HEADERS}.filter(k, ${RESERVED})[0] + " is set by the router"` },
    remedy: 'remove it; use auth for credentials',
  },
  {
    code: 'external-model-provider/header',
    field: 'spec.headers.*',
    key: `${HEADERS}.filter(k, ${HEADERS}[k].matches('[\\\\r\\\\n]'))[0]`,
    holds: `${NO_HEADERS} || ${HEADERS}.all(k, !${HEADERS}[k].matches('[\\\\r\\\\n]'))`,
    message: 'the value has a line break',
    remedy: 'write it in one line',
  },
  {
    code: 'external-model-provider/secret',
    field: 'spec.auth.secretRef.name',
    holds: `!has(object.spec.auth) || (has(${SECRET}.name) && ${SECRET}.name != "")`,
    message: 'empty',
    remedy: 'name the Secret',
  },
  {
    code: 'external-model-provider/secret',
    field: 'spec.auth.secretRef.key',
    holds: `!has(object.spec.auth) || ${SECRET}.key != ""`,
    message: 'empty',
    remedy: 'name the key in the Secret',
  },
];
