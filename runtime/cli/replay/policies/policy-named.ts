import { basename, extname } from 'node:path';
import { parseRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import { KvasirError } from '../../../../src/errors';
import { readConfig } from '../../../lib/read-config';
import { PROFILE_NAMES } from '../../../router/scheduling/configured-profile';
import { dynamoCost } from './dynamo-cost';
import { KTHENA_DEFAULT } from './kthena-default';
import { leastConnections } from './least-connections';
import { llmdWeights } from './llmd-weights';
import type { Policy } from './policy';
import { prefixFirst } from './prefix-first';
import { roundRobin } from './round-robin';
import { scrapedLeastRequest } from './scraped-least-request';
import { sglLeastLoad } from './sgl-least-load';
import { sglThresholds } from './sgl-thresholds';

const RIVALS: readonly Policy[] = [
  { kind: 'rival', name: 'round-robin', profile: roundRobin },
  { kind: 'rival', name: 'least-connections', profile: leastConnections },
  { kind: 'rival', name: 'scraped-least-request', profile: scrapedLeastRequest },
  { kind: 'configured', name: 'kthena-default', config: KTHENA_DEFAULT },
  { kind: 'rival', name: 'prefix-first', profile: prefixFirst },
  { kind: 'rival', name: 'sgl-thresholds', profile: sglThresholds },
  { kind: 'rival', name: 'sgl-least-load', profile: sglLeastLoad },
  { kind: 'rival', name: 'llmd-weights', profile: llmdWeights },
  { kind: 'rival', name: 'dynamo-cost', profile: dynamoCost },
];

/** Every policy that has a name: the router's own profiles, under the names that its configuration knows, and its rivals. */
export const POLICIES: readonly Policy[] = [
  // Who holds which blocks is told by Redis, which a replay does not have.
  ...PROFILE_NAMES.filter((name) => name !== 'kvcache-aware').map(
    (name): Policy => ({ kind: 'configured', name, config: { profile: name } }),
  ),
  ...RIVALS,
];

/**
 * Policies that a list names: a name of `POLICIES`, `all` for every one of them, or a router configuration file, which is then called
 * by the file's name without folder and extension.
 *
 * @throws KvasirError `replay/unknown-policy`, `replay/policy-twice`, or what is wrong with a file.
 */
export function policiesNamed(list: string): readonly Policy[] {
  const policies = new Map<string, Policy>();
  for (const text of list.split(',')) {
    const name = text.trim();
    for (const policy of name === 'all' ? POLICIES : [policyNamed(name)]) {
      if ((policies.get(policy.name) ?? policy) !== policy) throw namedTwice(policy.name);
      policies.set(policy.name, policy);
    }
  }
  return [...policies.values()];
}

function policyNamed(name: string): Policy {
  const known = POLICIES.find((policy) => policy.name === name);
  if (known !== undefined) return known;
  if (/\.(?:ya?ml|json)$/.test(name)) {
    const { profile, scheduler }: RouterConfig = readConfig(name, parseRouterConfig);
    return {
      kind: 'configured',
      name: basename(name, extname(name)),
      config: { ...(profile === undefined ? {} : { profile }), ...(scheduler === undefined ? {} : { scheduler }) },
    };
  }
  throw new KvasirError({
    code: 'replay/unknown-policy',
    field: '--policies',
    message: `there is no policy ${JSON.stringify(name)}`,
    remedy: `use all, a router configuration file (.yaml), or one of ${POLICIES.map((policy) => policy.name).join(', ')}`,
  });
}

function namedTwice(name: string): KvasirError {
  return new KvasirError({
    code: 'replay/policy-twice',
    field: '--policies',
    message: `two policies are called ${JSON.stringify(name)}`,
    remedy: 'give the file another name',
  });
}
