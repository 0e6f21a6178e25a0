import { describeObject } from '../../../src/api/meta';
import type { ModelRoute } from '../../../src/api/model-route';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';

/** Routes that keep tenants apart on a router that knows nobody. */
export function isolationFindings(routes: readonly ModelRoute[], auth: RouterConfig['auth']): readonly Finding[] {
  if ((auth?.jwksUri ?? '') !== '' || auth?.apiKeys !== undefined) return [];
  return routes
    .filter(({ spec }) => spec.tenantIsolation !== undefined)
    .map((route) => ({
      code: 'routing/nobody-to-isolate',
      severity: 'warning',
      object: describeObject(route),
      field: 'spec.tenantIsolation',
      message: 'the router asks for no credentials, so that it tells no tenants apart and everybody shares one cache',
      remedy: "give the router's configuration `auth.jwksUri` or `auth.apiKeys`",
    }));
}
