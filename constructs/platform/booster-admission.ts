import { DEFAULT_ENGINE_PORT } from '../../src/api/booster-engine';
import { type AdmissionRule, shownInCel } from './admission-rule';
import { configIn, hasConfig, kvTransferAdmission } from './kv-transfer-admission';

const BACKEND = 'object.spec.backend';
const WORKERS = `${BACKEND}.workers`;
const FIELD = 'spec.backend.workers';

const workerRules: readonly AdmissionRule[] = [
  {
    code: 'model-booster/image',
    field: `${FIELD}[].image`,
    holds: `!${WORKERS}.exists(w, has(w.image) && w.image.matches(r"\\s"))`,
    message: { cel: `${shownInCel(`${WORKERS}.filter(w, has(w.image) && w.image.matches(r"\\s"))[0].image`)} + " has spaces"` },
    remedy: 'write the image without spaces',
  },
  {
    code: 'model-booster/workers',
    field: FIELD,
    holds: `${BACKEND}.type != "vLLM" || size(${WORKERS}) == 1`,
    message: { cel: `"there are " + string(size(${WORKERS})) + " workers"` },
    remedy: 'a vLLM backend has exactly one',
  },
  ...(
    [
      ['vLLM', '["server"]', 'use server, or the type vLLMDisaggregated'],
      ['vLLMDisaggregated', '["prefill", "decode"]', 'use prefill or decode'],
    ] as const
  ).map(
    ([type, types, remedy]): AdmissionRule => ({
      code: 'model-booster/workers',
      field: `${FIELD}[].type`,
      holds: `${BACKEND}.type != "${type}" || ${WORKERS}.all(w, w.type in ${types})`,
      message: {
        cel: `${shownInCel(`${WORKERS}.filter(w, !(w.type in ${types}))[0].type`)} + " does not go with ${type}"`,
      },
      remedy,
    }),
  ),
];

const PORT = `${configIn('w')}.port`;
const HAS_PORT = hasConfig('w', 'port');
const IS_PORT = [
  `(type(${PORT}) == int && ${PORT} >= 1 && ${PORT} <= 65535)`,
  `(type(${PORT}) == string && ${PORT}.matches("^0*[1-9][0-9]{0,4}$") && int(${PORT}) <= 65535)`,
].join(' || ');
const WRONG_PORT = `(${HAS_PORT} && !(${IS_PORT}))`;
const ENGINES = `${WORKERS}.filter(w, w.type in ["server", "prefill", "decode"])`;
const PORTS = `${ENGINES}.map(w, ${HAS_PORT} ? int(${PORT}) : ${DEFAULT_ENGINE_PORT})`;
const WRONG_WORKER = `${ENGINES}.filter(w, ${WRONG_PORT})[0]`;
const shownPort = (port: string): string =>
  `(type(${port}) == string ? ${shownInCel(port)} : type(${port}) == int || type(${port}) == double ? string(${port}) : "of no number")`;

const portRules: readonly AdmissionRule[] = [
  {
    code: 'model-booster/port',
    field: FIELD,
    holds: `!${ENGINES}.exists(w, ${WRONG_PORT})`,
    message: { cel: `"invalid port " + ${shownPort(`${configIn(WRONG_WORKER)}.port`)} + " for worker " + ${WRONG_WORKER}.type` },
    remedy: 'give all workers the same port from 1 to 65535',
  },
  {
    code: 'model-booster/port',
    field: FIELD,
    holds: `${ENGINES}.exists(w, ${WRONG_PORT}) || ${PORTS}.all(p, p == ${PORTS}[0])`,
    message: {
      cel: `"workers use different engine ports: " + string(${PORTS}[0]) + " and " + string(${PORTS}.filter(p, p != ${PORTS}[0])[0])`,
    },
    remedy: 'give all workers the same port from 1 to 65535',
  },
];

const MODEL = `${BACKEND}.modelURI`;
const CACHE = `${BACKEND}.cacheURI`;
const PVC = 'pvc://';
/** CEL: parts of the path after `pvc://`, without those that mean nothing. */
const partsOf = (uri: string): string => `${uri}.substring(${PVC.length}).split("/").filter(s, s != "" && s != ".")`;
const IS_CLAIM = `(has(${CACHE}) && ${CACHE}.startsWith("${PVC}"))`;
const ON_CLAIM = `${MODEL}.startsWith("${PVC}")`;
const CLAIMS = `${CACHE}.substring(${PVC.length}).split("/").filter(s, s != "")`;
const GOES_UP = `".." in ${MODEL}.split("/")`;

/** A model on a claim is read inside the pod, so the claim must be mounted as the cache, above the model. */
const claimRules: readonly AdmissionRule[] = [
  {
    code: 'model-booster/pvc',
    field: 'spec.backend.modelURI',
    holds: `!${ON_CLAIM} || !(${GOES_UP})`,
    message: { cel: `${shownInCel(MODEL)} + " has a .. in its path"` },
    remedy: 'write the path without ..',
  },
  {
    code: 'model-booster/pvc',
    field: 'spec.backend.cacheURI',
    holds: `!${ON_CLAIM} || ${IS_CLAIM}`,
    message: 'the model is on a claim and the cache is not',
    remedy: 'set cacheURI to the pvc:// of the same claim',
  },
  {
    code: 'model-booster/pvc',
    field: 'spec.backend.cacheURI',
    holds: `!${ON_CLAIM} || !${IS_CLAIM} || size(${CLAIMS}) == 1`,
    message: { cel: `${shownInCel(CACHE)} + " names no single claim"` },
    remedy: 'write pvc://<claim>',
  },
  {
    code: 'model-booster/pvc',
    field: 'spec.backend.modelURI',
    holds: `!${ON_CLAIM} || !${IS_CLAIM} || ${GOES_UP} || size(${CLAIMS}) != 1 || (size(${partsOf(MODEL)}) > 0 && ${partsOf(MODEL)}[0] == ${CLAIMS}[0])`,
    message: {
      cel: `${shownInCel(`"/" + ${partsOf(MODEL)}.join("/")`)} + " is not below /" + ${CLAIMS}[0] + ", where the cache is mounted"`,
    },
    remedy: { cel: `"write pvc://" + ${CLAIMS}[0] + "/<path>"` },
  },
];

/** Rules of ModelBooster that its definition does not have. */
export const modelBoosterAdmission: readonly AdmissionRule[] = [
  ...workerRules,
  ...portRules,
  ...kvTransferAdmission,
  ...claimRules,
];
