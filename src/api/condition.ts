import { int64, object, oneOf, optional, text } from './schema';

/** Kubernetes' own condition, as the statuses of all kinds hold it. */
export const conditionSchema = object({
  type: text('Condition type in CamelCase, optionally with a domain in front.', {
    maxLength: 316,
    pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
  }),
  status: oneOf(['True', 'False', 'Unknown'], 'Whether the condition holds.'),
  reason: text('One CamelCase word for the last transition.', {
    minLength: 1,
    maxLength: 1024,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: text('A sentence about the last transition; may be empty.', { maxLength: 32768 }),
  lastTransitionTime: text('When the status last changed.', { format: 'date-time' }),
  observedGeneration: optional(int64('Generation of the object that the condition speaks of.', { minimum: 0 })),
});
