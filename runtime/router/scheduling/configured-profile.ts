import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import { expectedLatency } from './expected-latency';
import { lookupsOf, PLUGINS } from './plugin-table';
import { argsIn, type ConfiguredProfile, namesPlugins, type PluginSection, sectionProfile } from './section-profile';

/** What of a configuration says which profile decides. */
export type ProfileConfig = Pick<RouterConfig, 'profile' | 'scheduler'> & Partial<Pick<RouterConfig, 'profiles'>>;

/** Profiles that `profile` may name beside those of `profiles`. A plugin's name stands for that plugin alone. */
export const PROFILE_NAMES: readonly string[] = ['expected-latency', ...Object.keys(PLUGINS.scorers)];

/**
 * The profile that a configuration asks for: `profile` when given, else the plugins that Kthena's `scheduler` section enables, else
 * `expected-latency`.
 */
export function configuredProfile(config: ProfileConfig): ConfiguredProfile {
  const { profile, scheduler } = config;
  if (profile !== undefined) return namedProfile(profile, config, 'profile');
  if (namesPlugins(scheduler)) return sectionProfile('configured', scheduler, 'scheduler');
  return namedProfile('expected-latency', config, 'profile');
}

/** A profile of `profiles`, or one that is built in. @param field that names it, for findings. */
export function namedProfile(name: string, { scheduler, profiles = {} }: ProfileConfig, field: string): ConfiguredProfile {
  const section = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (section !== undefined) {
    if (namesPlugins(section)) return sectionProfile(name, section, `profiles.${name}`);
    const { profile } = builtIn('expected-latency', section)!;
    const forAdapters = profile.forAdapters && { ...profile.forAdapters, name };
    return { profile: { ...profile, name, ...(forAdapters && { forAdapters }) }, findings: [] };
  }
  const found = builtIn(name, scheduler);
  if (found !== undefined) return found;
  const fallback = builtIn('expected-latency', scheduler)!;
  const finding: Finding = {
    code: 'config/unknown-profile',
    severity: 'warning',
    field,
    message: `${JSON.stringify(name)} is no scheduling profile, so \`${fallback.profile.name}\` decides`,
    remedy: `use one of ${[...Object.keys(profiles), ...PROFILE_NAMES].join(', ')}`,
  };
  return { ...fallback, findings: [finding] };
}

function builtIn(name: string, section: PluginSection | undefined): ConfiguredProfile | undefined {
  const argsOf = argsIn(section);
  if (name === 'expected-latency') {
    return { profile: expectedLatency(argsOf(name).objective === 'ttft' ? 'ttft' : 'e2e'), findings: [] };
  }
  const scorer = Object.hasOwn(PLUGINS.scorers, name) ? PLUGINS.scorers[name]!(argsOf(name)) : undefined;
  if (scorer === undefined) return undefined;
  const filter = PLUGINS.filters[name];
  const profile = {
    name,
    filters: filter === undefined ? [] : [filter(argsOf(name))],
    scorers: [{ scorer, weight: 1 }],
    tieWidth: () => 0,
    ...lookupsOf(name, argsOf(name)),
  };
  return { profile, findings: [] };
}
