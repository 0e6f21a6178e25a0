import type { DecodedRouterConfig, RouterConfig } from '../../src/config/router-config';
import { configChange } from '../../src/config/router-reload';
import { type Finding, findingLine, KvasirError } from '../../src/errors';
import type { Clock } from '../lib/clock';
import type { Logger } from '../lib/logger';
import type { LiveConfig } from './live-config';
import type { ConfigMetrics } from './observability/config-metrics';

export interface ConfigReloadOptions {
  readonly live: LiveConfig;
  readonly clock: Clock;
  readonly metrics: ConfigMetrics;
  readonly log: Logger;
  /**
   * Makes of a configuration what may fail, while the old one is in use.
   *
   * @returns what puts it into use, which must not throw. @throws KvasirError when it cannot be used; nothing has changed then.
   */
  readonly prepare: (next: RouterConfig) => Promise<() => void>;
}

/** What people see of the configuration. */
export interface ConfigState {
  /** What the router goes by; it holds no secrets, only where they are. */
  readonly config: RouterConfig;
  /** Fields whose value in the file is not in use before a restart. */
  readonly awaitingRestart: readonly string[];
  /** Why the file's content is not in use; empty where it is. */
  readonly problems: readonly string[];
}

/** Takes over new configurations, one after the other, in whole or not at all; a bad one leaves everything as it is. */
export class ConfigReload {
  private turn: Promise<void> = Promise.resolve();
  private awaiting: readonly string[] = [];
  private problems: readonly string[] = [];

  constructor(private readonly options: ConfigReloadOptions) {
    options.metrics.taken(options.clock.now(), 0);
  }

  state(): ConfigState {
    return { config: this.options.live.value, awaitingRestart: this.awaiting, problems: this.problems };
  }

  /** Resolves when it is in use, or refused. Never rejects. */
  take(decoded: DecodedRouterConfig): Promise<void> {
    this.turn = this.turn.then(() => (decoded.kind === 'valid' ? this.apply(decoded.config) : this.refuse(decoded.findings)));
    return this.turn;
  }

  private async apply(wanted: RouterConfig): Promise<void> {
    const { live, clock, metrics, log, prepare } = this.options;
    const { config, applied, awaiting } = configChange(live.value, wanted);
    if (applied.length > 0) {
      try {
        const commit = await prepare(config);
        live.replace(config);
        commit();
      } catch (error) {
        if (!(error instanceof KvasirError)) log.error({ err: error }, 'the new configuration failed unforeseen');
        this.refuse([error instanceof KvasirError ? error.finding : UNFORESEEN]);
        return;
      }
      log.info({ applied }, 'the new configuration is in use');
    }
    if (awaiting.length > 0 && String(awaiting) !== String(this.awaiting)) {
      log.warn({ fields: awaiting }, `these fields of the configuration change with a restart: ${awaiting.join(', ')}`);
    }
    this.awaiting = awaiting;
    this.problems = [];
    metrics.taken(clock.now(), awaiting.length);
  }

  private refuse(findings: readonly Finding[]): void {
    const { metrics, log } = this.options;
    this.problems = findings.map(findingLine);
    for (const finding of findings) {
      log.error({ code: finding.code }, `${findingLine(finding)}; the last good configuration stays in use`);
    }
    metrics.refused();
  }
}

const UNFORESEEN: Finding = {
  code: 'config/invalid-value',
  severity: 'error',
  message: 'the configuration failed for a reason that the log has',
  remedy: 'report it',
};
