import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import { expectedLatency } from './expected-latency';
import type { Filter } from './filter';
import { gpuUsage } from './plugins/gpu-usage';
import { DEFAULT_TTFT_WEIGHT, leastLatency } from './plugins/least-latency';
import { DEFAULT_MAX_WAITING_REQUESTS, leastRequest, leastRequestFilter } from './plugins/least-request';
import { prefixCache } from './plugins/prefix-cache';
import { random } from './plugins/random';
import type { Profile, WeightedScorer } from './profile';
import type { Scorer } from './scorer';

type PluginArgs = Readonly<Record<string, unknown>>;

export interface ConfiguredProfile {
  readonly profile: Profile;
  /** What of the configuration cannot be done as written. */
  readonly findings: readonly Finding[];
}

const FILTERS: Readonly<Record<string, (args: PluginArgs) => Filter>> = {
  'least-request': (args) => leastRequestFilter(maxWaitingRequests(args)),
};
const SCORERS: Readonly<Record<string, (args: PluginArgs) => Scorer>> = {
  'least-request': () => leastRequest,
  'least-latency': (args) => leastLatency(ttftWeight(args)),
  'gpu-usage': () => gpuUsage,
  'prefix-cache': () => prefixCache,
  random: () => random,
};

/** Profiles that `profile` may name. A plugin's name stands for that plugin alone. */
export const PROFILE_NAMES: readonly string[] = ['expected-latency', ...Object.keys(SCORERS)];

/**
 * The profile that a configuration asks for: `profile` when given, else the plugins that Kthena's `scheduler` section enables, else
 * `expected-latency`. A plugin that cannot be had is named in a finding and the rest decides.
 */
export function configuredProfile(config: Pick<RouterConfig, 'profile' | 'scheduler'>): ConfiguredProfile {
  const argsByName = new Map(config.scheduler?.pluginConfig?.map(({ name, args }) => [name, lowerKeys(args ?? {})]));
  const argsOf = (name: string): PluginArgs => argsByName.get(name) ?? {};
  if (config.profile !== undefined) return namedProfile(config.profile, argsOf);
  const plugins = config.scheduler?.plugins;
  if (plugins?.Filter?.enabled === undefined && plugins?.Score?.enabled === undefined) {
    return namedProfile('expected-latency', argsOf);
  }
  const findings: Finding[] = [];
  const enabledScores = new Map(plugins.Score?.enabled?.map(({ name, weight }, index) => [name, { weight, index }]));
  if (enabledScores.has('random') && enabledScores.size > 1) {
    enabledScores.delete('random');
    findings.push(
      warning('Score.enabled', '`random` beside other score plugins would only blur them and is left out', 'enable it alone'),
    );
  }
  const filters: Filter[] = [];
  for (const [index, name] of (plugins.Filter?.enabled ?? []).entries()) {
    const make = FILTERS[name];
    if (make === undefined) findings.push(unavailable(`Filter.enabled[${index}]`, 'filter', name, Object.keys(FILTERS)));
    else filters.push(make(argsOf(name)));
  }
  const scorers: WeightedScorer[] = [];
  for (const [name, { weight = 0, index }] of enabledScores) {
    const field = `Score.enabled[${index}]`;
    const make = SCORERS[name];
    if (make === undefined) {
      findings.push(unavailable(field, 'score', name, Object.keys(SCORERS)));
      continue;
    }
    if (!(weight > 0)) {
      findings.push(
        warning(
          `${field}.weight`,
          `weight ${weight} of ${JSON.stringify(name)} means that it never counts`,
          'give it a weight above 0',
        ),
      );
    }
    scorers.push({ scorer: make(argsOf(name)), weight: Number.isFinite(weight) ? Math.max(0, weight) : 0 });
  }
  return { profile: { name: 'configured', filters, scorers, tieWidth: () => 0 }, findings };
}

function namedProfile(name: string, argsOf: (name: string) => PluginArgs): ConfiguredProfile {
  const scorer = SCORERS[name];
  if (scorer !== undefined) {
    const filter = FILTERS[name];
    const filters = filter === undefined ? [] : [filter(argsOf(name))];
    return {
      profile: { name, filters, scorers: [{ scorer: scorer(argsOf(name)), weight: 1 }], tieWidth: () => 0 },
      findings: [],
    };
  }
  const objective = argsOf('expected-latency').objective === 'ttft' ? 'ttft' : 'e2e';
  const profile = expectedLatency(objective);
  if (name === profile.name) return { profile, findings: [] };
  const finding: Finding = {
    code: 'config/unknown-profile',
    severity: 'warning',
    field: 'profile',
    message: `${JSON.stringify(name)} is no scheduling profile, so \`${profile.name}\` decides`,
    remedy: `use one of ${PROFILE_NAMES.join(', ')}`,
  };
  return { profile, findings: [finding] };
}

function unavailable(field: string, kind: string, name: string, known: readonly string[]): Finding {
  return warning(
    field,
    `the ${kind} plugin ${JSON.stringify(name)} is not available and takes no part`,
    `use ${known.join(', ')}, or remove it`,
  );
}

function warning(field: string, message: string, remedy: string): Finding {
  return { code: 'config/scheduler-plugin', severity: 'warning', field: `scheduler.plugins.${field}`, message, remedy };
}

/** Kthena reads argument names without regard to case. */
function lowerKeys(args: PluginArgs): PluginArgs {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key.toLowerCase(), value]));
}

/** A bad or zero value is Kthena's default; a negative one, which would refuse every endpoint, is too. */
function maxWaitingRequests({ maxwaitingrequests: value }: PluginArgs): number {
  return typeof value === 'number' && value > 0 ? value : DEFAULT_MAX_WAITING_REQUESTS;
}

function ttftWeight({ ttfttpotweightfactor: value }: PluginArgs): number {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : DEFAULT_TTFT_WEIGHT;
}
