import type { RouterConfig } from '../../../../src/config/router-config';
import type { Finding } from '../../../../src/errors';
import { configuredProfile } from '../../../router/scheduling/configured-profile';
import type { Profile } from '../../../router/scheduling/profile';
import type { FleetFacts } from '../fixed-fleet';

/** A way to choose pods: what a router's configuration can ask for, or how another router decides. */
export type Policy =
  | { readonly kind: 'configured'; readonly name: string; readonly config: Pick<RouterConfig, 'profile' | 'scheduler'> }
  /** A rival's rule over what Kvasir's own index, ledger and scrapes say, so that only the decision differs. Made anew for each run. */
  | { readonly kind: 'rival'; readonly name: string; readonly profile: (fleet: FleetFacts) => Profile };

/** What of a policy's configuration cannot be done as written. */
export function policyFindings(policy: Policy): readonly Finding[] {
  return policy.kind === 'configured' ? configuredProfile(policy.config).findings : [];
}
