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
    const { profile, findings } = builtIn('expected-latency', section, `profiles.${name}`)!;
    const forAdapters = profile.forAdapters && { ...profile.forAdapters, name };
    return { profile: { ...profile, name, ...(forAdapters && { forAdapters }) }, findings };
  }
  const found = builtIn(name, scheduler, 'scheduler');
  if (found !== undefined) return found;
  const fallback = builtIn('expected-latency', scheduler, 'scheduler')!;
  const finding: Finding = {
    code: 'config/unknown-profile',
    severity: 'warning',
    field,
    message: `${JSON.stringify(name)} is no scheduling profile, so \`${fallback.profile.name}\` decides`,
    remedy: `use one of ${[...Object.keys(profiles), ...PROFILE_NAMES].join(', ')}`,
  };
  return { ...fallback, findings: [...fallback.findings, finding] };
}

function builtIn(name: string, section: PluginSection | undefined, field: string): ConfiguredProfile | undefined {
  const argsOf = argsIn(section);
  if (name === 'expected-latency') {
    const { objective, itlms: itlMs, secondsperunit: secondsPerUnit } = argsOf(name);
    const isGoal = typeof itlMs === 'number' && itlMs > 0;
    const isPriced = typeof secondsPerUnit === 'number' && secondsPerUnit > 0;
    const unusable = (message: string, remedy: string): Finding => {
      const found = { code: 'config/scheduler-plugin', severity: 'warning' as const, field: `${field}.pluginConfig` };
      return { ...found, message, remedy };
    };
    const badGoal = unusable(
      `itlMs of \`expected-latency\` is ${JSON.stringify(itlMs)}, so no token counts as late`,
      'give the longest mean time between tokens, in milliseconds above 0',
    );
    const badPrice = unusable(
      `secondsPerUnit of \`expected-latency\` is ${JSON.stringify(secondsPerUnit)}, so no price counts`,
      'give the seconds of waiting that one unit of money is worth, above 0',
    );
    return {
      profile: expectedLatency(
        objective === 'ttft' ? 'ttft' : 'e2e',
        isGoal ? itlMs : undefined,
        isPriced ? secondsPerUnit : undefined,
      ),
      findings: [
        ...(isGoal || itlMs === undefined ? [] : [badGoal]),
        ...(isPriced || secondsPerUnit === undefined ? [] : [badPrice]),
      ],
    };
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
