import { KV_CONNECTORS, KV_ROLES } from '../../src/api/booster-engine';
import type { AdmissionRule, RuleText } from './admission-rule';

const WORKERS = 'object.spec.backend.workers';
const KEY = 'kv-transfer-config';

/** CEL: the configuration of worker `w`, which is any JSON, so that the API server does not know the field. */
export const configIn = (w: string): string => `dyn(${w}).config`;
/** CEL: whether worker `w` has `key` in its configuration. */
export const hasConfig = (w: string, key: string): string =>
  `(has(${configIn(w)}) && type(${configIn(w)}) == map && "${key}" in ${configIn(w)})`;

/** The text of an object whose members are no objects and lists, and have no escapes. CEL reads no JSON, but this is regular. */
const MEMBER = String.raw`\s*"[^"\\]*"\s*:\s*("[^"\\]*"|-?[0-9][0-9.eE+-]*|true|false|null)\s*`;
const FLAT = String.raw`r'^\s*[{](\s*|${MEMBER}(,${MEMBER})*)[}]\s*$'`;
/** The text of what may be another object; it is not judged here. */
const NOT_FLAT = String.raw`r'(?s)^\s*[{].*[\[\]{}\\].*[}]\s*$'`;

const workersOf = (role: string): string => `${WORKERS}.filter(w, w.type == "${role}")`;
const configOf = (role: string): string => `${configIn(`${workersOf(role)}[0]`)}["${KEY}"]`;
const isThere = (role: string): string => `${WORKERS}.exists(w, w.type == "${role}" && ${hasConfig('w', KEY)})`;
const isText = (role: string): string => `type(${configOf(role)}) == string`;
const isRead = (role: string): string =>
  `(size(${workersOf(role)}) == 1 && ${isThere(role)} && ${isText(role)} && ${configOf(role)}.matches(${FLAT}))`;

/** CEL: the text at `key` in the configuration of the transfer; empty when there is none. */
function textAt(role: string, key: string): string {
  const found = `${configOf(role)}.find(r'"${key}"\\s*:\\s*"[^"]*"')`;
  return `(${found} == "" ? "" : ${found}.split('"')[3])`;
}

const rule = (holds: string, message: RuleText): AdmissionRule => ({
  code: 'model-booster/kv-connector',
  field: 'spec.backend.workers',
  holds,
  message,
  remedy: 'give prefill and decode the same connector, each with its role',
});

const roleRules = (role: keyof typeof KV_ROLES): readonly AdmissionRule[] => {
  const [unread, unjudged] = [`!${isRead(role)}`, `size(${workersOf(role)}) != 1 || !${isThere(role)}`];
  const [connector, part] = [textAt(role, 'kv_connector'), textAt(role, 'kv_role')];
  return [
    rule(`size(${workersOf(role)}) <= 1`, `there is more than one ${role} worker`),
    rule(`${unjudged} || ${isText(role)}`, `${KEY} of the ${role} worker is no string`),
    rule(
      `${unjudged} || !(${isText(role)}) || ${configOf(role)}.matches(${FLAT}) || ${configOf(role)}.matches(${NOT_FLAT})`,
      `${KEY} of the ${role} worker is no JSON`,
    ),
    rule(`${unread} || ${connector} != ""`, `${KEY} of the ${role} worker has no kv_connector`),
    rule(`${unread} || ${part} != ""`, `${KEY} of the ${role} worker has no kv_role`),
    rule(`${unread} || ${connector} == "" || ${connector} in ${JSON.stringify(Object.keys(KV_CONNECTORS))}`, {
      cel: `"unsupported KV connector " + ${connector} + "; supported are ${Object.keys(KV_CONNECTORS).sort().join(', ')}"`,
    }),
    rule(`${unread} || ${part} == "" || ${part} in ${JSON.stringify(KV_ROLES[role])}`, {
      cel: `"the ${role} worker has kv_role " + ${part} + "; use ${KV_ROLES[role].join(' or ')}"`,
    }),
  ];
};

const TYPES = JSON.stringify(KV_CONNECTORS);
const [PREFILL, DECODE] = [textAt('prefill', 'kv_connector'), textAt('decode', 'kv_connector')];
const ARE_KNOWN = `${isRead('prefill')} && ${isRead('decode')} && ${PREFILL} in ${TYPES} && ${DECODE} in ${TYPES}`;

/** Rules of how prefill and decode workers of a ModelBooster hand over KV cache. */
export const kvTransferAdmission: readonly AdmissionRule[] = [
  ...roleRules('prefill'),
  ...roleRules('decode'),
  rule(`${isThere('prefill')} || !${isThere('decode')}`, `only the decode worker has a ${KEY}`),
  rule(`${isThere('decode')} || !${isThere('prefill')}`, `only the prefill worker has a ${KEY}`),
  rule(`!(${ARE_KNOWN}) || ${TYPES}[${PREFILL}] == ${TYPES}[${DECODE}]`, {
    cel: `"the workers use different KV connectors: " + ${TYPES}[${PREFILL}] + " and " + ${TYPES}[${DECODE}]`,
  }),
];
