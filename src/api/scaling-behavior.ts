import { type Decoded, defaulted, duration, filledIn, int32, object, oneOf } from './schema';

const stableFields = {
  instances: defaulted(int32('Most replicas that one period may add or remove.', { minimum: 0 }), 1),
  percent: defaulted(int32('Most replicas that one period may add or remove, in percent.', { minimum: 0, maximum: 1000 }), 100),
  period: defaulted(duration('Window of the limits, 0 to 30 minutes.'), '15s'),
  selectPolicy: defaulted(oneOf(['Or', 'And'], '`Or`: the looser of the two limits counts; `And`: the stricter.'), 'Or'),
  stabilizationWindow: filledIn(
    duration('How long the most careful recommendation is remembered, 0 to 30 minutes. Absent: 5m downwards, 0s upwards.'),
  ),
};

export const stablePolicySchema = object(stableFields, { description: 'Limits of ordinary scaling up.' });

export const scaleDownSchema = object(stableFields, { description: 'Limits of scaling down.' });

export const panicPolicySchema = object(
  {
    percent: defaulted(int32('Most replicas that one period may add, in percent.', { minimum: 0, maximum: 1000 }), 1000),
    period: duration('Window of the limit, 0 to 30 minutes.'),
    panicThresholdPercent: defaulted(
      int32('Recommended ÷ current replicas, in percent, from which panic begins.', { minimum: 110, maximum: 1000 }),
      200,
    ),
    panicModeHold: defaulted(duration('How long panic lasts after its last cause, 0 to 30 minutes. 0s: never panic.'), '60s'),
  },
  { description: 'Limits of scaling up under sudden load. While panic lasts, nothing is scaled down.' },
);

export const scaleUpSchema = object(
  { stablePolicy: filledIn(stablePolicySchema), panicPolicy: filledIn(panicPolicySchema) },
  { description: 'Limits of scaling up.' },
);

export const behaviorSchema = object(
  { scaleUp: filledIn(scaleUpSchema), scaleDown: filledIn(scaleDownSchema) },
  { description: 'How fast replicas may change.' },
);

export type StablePolicy = Decoded<typeof stablePolicySchema>;
export type PanicPolicy = Decoded<typeof panicPolicySchema>;
export type ScaleUp = Decoded<typeof scaleUpSchema>;
export type ScaleDown = Decoded<typeof scaleDownSchema>;
export type Behavior = Decoded<typeof behaviorSchema>;
