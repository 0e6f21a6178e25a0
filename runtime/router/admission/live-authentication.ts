import type { AuthConfig } from '../../../src/config/auth-config';
import type { Finding } from '../../../src/errors';
import type { Timer } from '../../lib/clock';
import { AuthMetrics } from '../observability/auth-metrics';
import { type Authentication, type AuthenticationOptions, createAuthentication } from './authenticate';

/** Between looks at whether a new configuration can tell who asks. */
const READY_POLL_MS = 100;

/**
 * Authentication that follows its configuration. As with a rolling update, a new one takes over when it can tell who asks, so that an
 * issuer that does not answer never shuts everybody out; until then the old one decides.
 */
export class LiveAuthentication implements Authentication {
  private current: Authentication;
  private next: Authentication | undefined;
  private timer: Timer | undefined;

  constructor(private readonly options: AuthenticationOptions) {
    this.current = createAuthentication(options);
  }

  readonly authenticate: Authentication['authenticate'] = (head) => this.current.authenticate(head);

  isReady(): boolean {
    return this.current.isReady();
  }

  findings(): readonly Finding[] {
    return [...this.current.findings(), ...(this.next?.findings() ?? [])];
  }

  configure(auth: AuthConfig | undefined): void {
    this.abandonNext();
    const next = createAuthentication({ ...this.options, auth });
    this.next = next;
    this.takeOver(next, auth);
  }

  close(): void {
    this.abandonNext();
    this.current.close();
  }

  private takeOver(next: Authentication, auth: AuthConfig | undefined): void {
    const { clock, log, metrics } = this.options;
    if (!next.isReady()) {
      this.timer = clock.after(READY_POLL_MS, () => this.takeOver(next, auth));
      return;
    }
    this.current.close();
    this.current = next;
    this.next = undefined;
    if ((auth?.jwksUri ?? '') === '') new AuthMetrics(metrics).withoutTokens();
    log.info('the new authentication is in force');
  }

  private abandonNext(): void {
    this.timer?.cancel();
    this.next?.close();
    this.next = undefined;
  }
}
