import { InvalidArgumentError } from 'commander';
import type { ModelState, ModelView } from '../look/model-view';
import { counted } from '../look/texts';

const SEVERITIES = ['error', 'warning'] as const;
const STATES = [
  'Degraded',
  'Starting',
  'Asleep',
  'Off',
  'Broken',
  'Unreachable',
  'NotRunning',
] as const satisfies readonly ModelState[];

/** What of a model makes `kvasir status` fail: a problem of a severity, or a state. */
export type StatusFailure = (typeof SEVERITIES)[number] | (typeof STATES)[number];

/**
 * Reads words with commas between: `error`, `warning` (errors too), or a model's state in any case.
 *
 * @throws InvalidArgumentError, which commander prints with the flag's name.
 */
export function parseStatusFailures(text: string): readonly StatusFailure[] {
  const words = text.split(',').map((word) => word.trim());
  return words.map((word) => {
    const known = [...SEVERITIES, ...STATES].find((each) => each.toLowerCase() === word.toLowerCase());
    if (known === undefined) {
      throw new InvalidArgumentError(`${JSON.stringify(word)} is none of ${[...SEVERITIES, ...STATES].join(', ')}`);
    }
    return known;
  });
}

/** Why status fails, a line for each model that does. @param failures what is asked for. */
export function failedModels(models: readonly ModelView[], failures: readonly StatusFailure[]): readonly string[] {
  return models.flatMap((model) => {
    const severities = SEVERITIES.filter((each) => failures.includes(each) || (each === 'error' && failures.includes('warning')));
    const counts = severities.flatMap((severity) => {
      const count = model.problems.filter((problem) => problem.severity === severity).length;
      return count === 0 ? [] : [counted(count, severity)];
    });
    const state = STATES.find((each) => each === model.state && failures.includes(each));
    const reasons = [
      ...(state === undefined ? [] : [`is ${state}`]),
      ...(counts.length === 0 ? [] : [`has ${counts.join(', ')}`]),
    ];
    return reasons.length === 0 ? [] : [`failed: ${model.namespace}/${model.name} ${reasons.join(' and ')}`];
  });
}
