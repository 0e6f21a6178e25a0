import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import { namedProfile, type ProfileConfig } from './configured-profile';
import type { Profile } from './profile';

/** The profiles of single routes by `namespace/name`; undefined where no route has one of its own. */
export function routeProfiles(config: ProfileConfig & Partial<Pick<RouterConfig, 'routeProfiles'>>): {
  readonly byRoute: ReadonlyMap<string, Profile> | undefined;
  readonly findings: readonly Finding[];
} {
  const routes = Object.entries(config.routeProfiles ?? {});
  if (routes.length === 0) return { byRoute: undefined, findings: [] };
  const named = new Map(routes.map(([route, name]) => [name, namedProfile(name, config, `routeProfiles.${route}`)] as const));
  return {
    byRoute: new Map(routes.map(([route, name]) => [route, named.get(name)!.profile])),
    findings: [...named.values()].flatMap(({ findings }) => findings),
  };
}
