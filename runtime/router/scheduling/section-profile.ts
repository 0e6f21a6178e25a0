import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import type { Filter } from './filter';
import { lookupsOf, PLUGINS, type PluginArgs } from './plugin-table';
import type { Profile, WeightedScorer } from './profile';

/** A list of plugins and their arguments, as Kthena's `scheduler` section has it. */
export type PluginSection = NonNullable<RouterConfig['scheduler']>;

/** A profile, and what of the configuration cannot be done as written. */
export interface ConfiguredProfile {
  readonly profile: Profile;
  readonly findings: readonly Finding[];
}

/** Arguments of a section's plugins. */
export function argsIn(section: PluginSection | undefined): (plugin: string) => PluginArgs {
  const byName = new Map(section?.pluginConfig?.map(({ name, args }) => [name, lowerKeys(args ?? {})]));
  return (plugin) => byName.get(plugin) ?? {};
}

/** Whether a section says which plugins decide. */
export function namesPlugins(section: PluginSection | undefined): section is PluginSection {
  return section?.plugins?.Filter?.enabled !== undefined || section?.plugins?.Score?.enabled !== undefined;
}

/**
 * The profile of the plugins that a section enables and does not disable. A plugin that cannot be had is named in a finding and the rest
 * decides.
 *
 * @param name of the profile. @param field of the section, for findings.
 */
export function sectionProfile(name: string, section: PluginSection, field: string): ConfiguredProfile {
  const { Filter: filterPlugins, Score: scorePlugins } = section.plugins ?? {};
  const argsOf = argsIn(section);
  const findings: Finding[] = [];
  const warn = (where: string, message: string, remedy: string): void => {
    findings.push({ code: 'config/scheduler-plugin', severity: 'warning', field: `${field}.plugins.${where}`, message, remedy });
  };
  const isOff = (kind: string, disabled: readonly unknown[] | undefined, plugin: string): boolean => {
    const names = (disabled ?? []).map(nameOf);
    if (!names.includes(plugin) && !names.includes('*')) return false;
    warn(kind, `${JSON.stringify(plugin)} is enabled and disabled, and is off`, 'take it out of one of the lists');
    return true;
  };
  const filters: Filter[] = [];
  for (const [index, plugin] of (filterPlugins?.enabled ?? []).entries()) {
    if (isOff(`Filter.disabled`, filterPlugins?.disabled, plugin)) continue;
    const make = PLUGINS.filters[plugin];
    if (make === undefined) warn(`Filter.enabled[${index}]`, ...unavailable('filter', plugin, Object.keys(PLUGINS.filters)));
    else filters.push(make(argsOf(plugin)));
  }
  const enabled = new Map(scorePlugins?.enabled?.map((plugin, index) => [plugin.name, { weight: plugin.weight, index }]));
  for (const plugin of [...enabled.keys()]) if (isOff(`Score.disabled`, scorePlugins?.disabled, plugin)) enabled.delete(plugin);
  if (enabled.has('random') && enabled.size > 1) {
    enabled.delete('random');
    warn('Score.enabled', '`random` beside other score plugins would only blur them and is left out', 'enable it alone');
  }
  const scorers: WeightedScorer[] = [];
  let lookups: Pick<Profile, 'kvBlocks'> = {};
  for (const [plugin, { weight = 0, index }] of enabled) {
    const where = `Score.enabled[${index}]`;
    const make = PLUGINS.scorers[plugin];
    if (make === undefined) {
      warn(where, ...unavailable('score', plugin, Object.keys(PLUGINS.scorers)));
      continue;
    }
    if (!(weight > 0)) {
      const message = `weight ${weight} of ${JSON.stringify(plugin)} means that it never counts`;
      warn(`${where}.weight`, message, 'give it a weight above 0');
    }
    scorers.push({ scorer: make(argsOf(plugin)), weight: Number.isFinite(weight) ? Math.max(0, weight) : 0 });
    lookups = { ...lookups, ...(weight > 0 ? lookupsOf(plugin, argsOf(plugin)) : {}) };
  }
  return { profile: { name, filters, scorers, tieWidth: () => 0, ...lookups }, findings };
}

function unavailable(kind: string, name: string, known: readonly string[]): [message: string, remedy: string] {
  return [
    `the ${kind} plugin ${JSON.stringify(name)} is not available and takes no part`,
    `use ${known.join(', ')}, or remove it`,
  ];
}

/** A disabled plugin is named as an enabled one is, or by its name alone. */
function nameOf(plugin: unknown): unknown {
  return typeof plugin === 'object' && plugin !== null && 'name' in plugin ? plugin.name : plugin;
}

/** Kthena reads argument names without regard to case. */
function lowerKeys(args: PluginArgs): PluginArgs {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key.toLowerCase(), value]));
}
