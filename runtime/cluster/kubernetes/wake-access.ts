import type { ModelServer } from '../../../src/api/model-server';
import type { Clock } from '../../lib/clock';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { SleepersView } from '../views/sleepers-view';
import { LEASES, renewedMsOf, type WakeLease, wakeLease } from '../wake-lease';
import { type Sleeper, type WakeSignal, wakeLeaseName } from '../wake-signal';
import type { ApiAnswer, ApiClient } from './api-client';
import { readOutcomeOf, writeOutcomeOf } from './outcome-of';
import { resourcePath, watchedResource } from './watched-resources';

/** Wake leases over the API. */
export class WakeAccess implements WakeSignal {
  private readonly resource = watchedResource(LEASES.kind);

  constructor(
    private readonly client: ApiClient,
    private readonly clock: Clock,
    private readonly sleepers: SleepersView,
  ) {}

  sleepersOf(server: ModelServer): readonly Sleeper[] {
    return this.sleepers.of(server);
  }

  /** Several routers call one target: whoever comes first makes the Lease, all others renew it. */
  async wake(sleeper: Sleeper): Promise<WriteOutcome> {
    const lease = wakeLease(sleeper, this.clock.now());
    let answer = await this.renew(lease);
    if (answer.kind === 'answered' && answer.status === 404) {
      const path = resourcePath(this.resource, lease.metadata.namespace);
      answer = await this.client.request({ method: 'POST', path, body: lease });
      if (answer.kind === 'answered' && answer.status === 409) answer = await this.renew(lease);
    }
    return writeOutcomeOf(answer, []);
  }

  /** When the target was last called, in milliseconds since the epoch. */
  async read(namespace: string, uid: string): Promise<ReadOutcome<number>> {
    const path = resourcePath(this.resource, namespace, wakeLeaseName(uid));
    const read = readOutcomeOf(await this.client.request({ method: 'GET', path }), (body) => renewedMsOf(body as WakeLease));
    if (read.kind !== 'found') return read;
    return read.value === undefined ? { kind: 'gone' } : { kind: 'found', value: read.value };
  }

  private renew({ metadata, spec }: WakeLease): Promise<ApiAnswer> {
    const path = resourcePath(this.resource, metadata.namespace, metadata.name);
    return this.client.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: { spec } });
  }
}
