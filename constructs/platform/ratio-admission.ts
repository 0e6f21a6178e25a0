import { type AdmissionRule, shownInCel } from './admission-rule';
import { hasPath, NO_ROLES, ROLES } from './scaling-target-admission';

const BASE = 'spec.disaggregatedTarget.ratioConstraint';
const RATIO = `object.${BASE}`;
const NO_RATIO = `!(${hasPath('disaggregatedTarget.ratioConstraint')})`;

/** CEL: whether the number or quantity `value` can be read. */
export const isNumeric = (value: string): string => `(type(${value}) != string || isQuantity(${value}))`;
/** CEL: the number or quantity `value` as a double. */
const numberOf = (value: string): string =>
  `(type(${value}) == string ? quantity(${value}).asApproximateFloat() : double(${value}))`;

const [LOW, HIGH] = [numberOf(`${RATIO}.minRatio`), numberOf(`${RATIO}.maxRatio`)];
const IS_NUMERIC = `(${isNumeric(`${RATIO}.minRatio`)} && ${isNumeric(`${RATIO}.maxRatio`)})`;
const IS_RANGE = `(${LOW} >= 0.0 && ${HIGH} > 0.0 && ${LOW} <= ${HIGH})`;
const RANGE_TEXT = `string(${LOW}) + " to " + string(${HIGH})`;

const [NUMERATOR, DENOMINATOR] = [`${ROLES}[${RATIO}.numeratorRole]`, `${ROLES}[${RATIO}.denominatorRole]`];
const ARE_ROLES = `(${RATIO}.numeratorRole in ${ROLES} && ${RATIO}.denominatorRole in ${ROLES})`;
/** The least ratio within the roles' bounds is not above the range, and the greatest not below it. */
const IS_REACHABLE = [
  `double(${NUMERATOR}.minReplicas) / double(${DENOMINATOR}.maxReplicas) <= ${HIGH}`,
  `(${DENOMINATOR}.minReplicas == 0 || double(${NUMERATOR}.maxReplicas) / double(${DENOMINATOR}.minReplicas) >= ${LOW})`,
].join(' && ');

/** Rules of roles whose replicas keep a ratio. */
export const ratioAdmission: readonly AdmissionRule[] = [
  ...(['numeratorRole', 'denominatorRole'] as const).map(
    (side): AdmissionRule => ({
      code: 'autoscaling/ratio-roles',
      field: `${BASE}.${side}`,
      holds: `${NO_RATIO} || ${RATIO}.${side} in ${ROLES}`,
      message: { cel: `${shownInCel(`${RATIO}.${side}`)} + " is not among the roles"` },
      remedy: 'use one of its roles',
    }),
  ),
  {
    code: 'autoscaling/ratio-bounds',
    field: BASE,
    holds: `${NO_RATIO} || ${IS_NUMERIC}`,
    message: 'minRatio or maxRatio is no finite number',
    remedy: 'write decimal numbers',
  },
  {
    code: 'autoscaling/ratio-bounds',
    field: BASE,
    holds: `${NO_RATIO} || !${IS_NUMERIC} || ${IS_RANGE}`,
    message: { cel: `${RANGE_TEXT} + " is no range"` },
    remedy: 'use minRatio ≥ 0, maxRatio > 0 and minRatio ≤ maxRatio',
  },
  {
    code: 'autoscaling/ratio-zero',
    field: BASE,
    holds: `${NO_RATIO} || !${ARE_ROLES} || (${NUMERATOR}.minReplicas == 0) == (${DENOMINATOR}.minReplicas == 0)`,
    message: 'only one of the two roles may scale to zero',
    remedy: 'give both or neither minReplicas 0',
  },
  {
    code: 'autoscaling/ratio-unreachable',
    field: BASE,
    holds: `${NO_RATIO} || ${NO_ROLES} || !${ARE_ROLES} || !${IS_NUMERIC} || !${IS_RANGE} || (${IS_REACHABLE})`,
    message: { cel: `"no replicas within the roles' bounds have a ratio of " + ${RANGE_TEXT}` },
    remedy: 'widen the bounds or the range',
  },
];
