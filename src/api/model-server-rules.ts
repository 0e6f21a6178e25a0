import { labelRules } from './metadata-rules';
import type { ModelServer } from './model-server';
import { isLabelKey } from './names';
import { error, type Problem, shown } from './problem';

/** What Kthena's webhook asks of a ModelServer. */
export function* modelServerRules({ spec }: ModelServer): Iterable<Problem> {
  const { matchLabels = {}, pdGroup } = spec.workloadSelector;
  yield* selectorRules(matchLabels, 'spec.workloadSelector.matchLabels');
  if (pdGroup === undefined) return;
  if (pdGroup.groupKey === '') {
    yield error(
      'spec.workloadSelector.pdGroup.groupKey',
      'model-server/group-key',
      'empty',
      'name the label that pairs prefill and decode',
    );
  } else if (!isLabelKey(pdGroup.groupKey)) {
    yield error(
      'spec.workloadSelector.pdGroup.groupKey',
      'model-server/group-key',
      `${shown(pdGroup.groupKey)} is no label key`,
      'use [domain/]name of letters, digits, -, _ and .',
    );
  }
  yield* selectorRules(pdGroup.prefillLabels, 'spec.workloadSelector.pdGroup.prefillLabels');
  yield* selectorRules(pdGroup.decodeLabels, 'spec.workloadSelector.pdGroup.decodeLabels');
}

function* selectorRules(labels: Readonly<Record<string, string>>, path: string): Iterable<Problem> {
  if (Object.keys(labels).length === 0) {
    yield error(path, 'model-server/no-labels', 'no label is given', 'name at least one label of the pods');
  }
  yield* labelRules(labels, path);
}
