import type { PanicPolicy, ScaleDown, StablePolicy } from './scaling-behavior';

/** What Kthena's mutating webhook fills in, and what therefore holds for a policy that says nothing. */
export const DEFAULT_SCALE_DOWN: ScaleDown = {
  instances: 0,
  percent: 100,
  period: '1m',
  selectPolicy: 'Or',
  stabilizationWindow: '5m',
};
export const DEFAULT_STABLE_POLICY: StablePolicy = {
  instances: 4,
  percent: 100,
  period: '1m',
  selectPolicy: 'Or',
  stabilizationWindow: '0s',
};
/** A hold of zero: panic never begins. */
export const DEFAULT_PANIC_POLICY: PanicPolicy = { percent: 0, period: '0s', panicThresholdPercent: 200, panicModeHold: '0s' };

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/**
 * A policy's spec with the defaults of Kthena's webhook, which come after the schema's. So an empty object is not the same as none:
 * `scaleDown: {}` has the schema's fields (1 instance per 15 s), no `scaleDown` at all has the webhook's (all in 1 minute).
 *
 * @param spec with the schema's defaults filled in; other values than objects are left for the validator to report.
 */
export function fillScalingDefaults(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return spec;
  const { behavior } = spec as { readonly behavior?: unknown };
  if (behavior !== undefined && !isObject(behavior)) return spec;
  const { scaleUp, scaleDown } = fieldsOf(behavior);
  return {
    ...spec,
    behavior: {
      ...fieldsOf(behavior),
      scaleUp: isObject(scaleUp) || scaleUp === undefined ? fillScaleUp(fieldsOf(scaleUp)) : scaleUp,
      scaleDown: fillWindow(scaleDown, DEFAULT_SCALE_DOWN),
    },
  };
}

function fillScaleUp({ stablePolicy, panicPolicy, ...rest }: Fields): Fields {
  return {
    ...rest,
    stablePolicy: fillWindow(stablePolicy, DEFAULT_STABLE_POLICY),
    panicPolicy: panicPolicy ?? { ...DEFAULT_PANIC_POLICY },
  };
}

function fillWindow(policy: unknown, whole: StablePolicy): unknown {
  if (policy === undefined) return { ...whole };
  return isObject(policy) ? { stabilizationWindow: whole.stabilizationWindow, ...policy } : policy;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
