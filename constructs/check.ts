import type { IConstruct } from 'constructs';
import { type Finding, findingLine } from '../src/errors';
import { hasStackContext } from './stack-context';

/** What a construct finds wrong with itself. Its path is added by whoever reports it. */
export type Check = () => readonly Finding[];

const checks = new WeakMap<IConstruct, Check[]>();

/**
 * Has `check` run at synth. `GitOpsApp` reports all findings together; under another cdk8s `App` errors become node validations.
 */
export function addCheck(construct: IConstruct, check: Check): void {
  const registered = checks.get(construct);
  if (registered !== undefined) {
    registered.push(check);
    return;
  }
  checks.set(construct, [check]);
  construct.node.addValidation({
    validate: () => (hasStackContext(construct) ? [] : findingsOf(construct).filter(isError).map(findingLine)),
  });
}

/** Runs the checks of `construct` itself. */
export function findingsOf(construct: IConstruct): readonly Finding[] {
  return (checks.get(construct) ?? []).flatMap((check) => check());
}

function isError(finding: Finding): boolean {
  return finding.severity === 'error';
}
