import type { FoundAt } from './found-at';

/** Codes about objects, and the code by which a construct above says the same in the words of what the user wrote. */
const SAID_BY_CONSTRUCT: Readonly<Record<string, string>> = {
  'fit/ranks': 'workload/parallelism',
  'routing/kv-layout': 'pd/kv-layout',
  'manifest/file-case': 'gitops/file-case',
};

/** `found` without what a construct already says about its own objects. */
export function saidOnce(found: readonly FoundAt[]): readonly FoundAt[] {
  return found.filter(({ construct, finding }) => {
    const code = SAID_BY_CONSTRUCT[finding.code];
    if (code === undefined) return true;
    return !found.some((other) => other.finding.code === code && construct.node.scopes.includes(other.construct));
  });
}
