import type { Clock } from '../../lib/clock';
import type { LeaseStore } from '../election/election';
import { type LeaseRecord, leaseObject, type ReadLease, readLeaseObject } from '../election/lease-record';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import { LEASES } from '../wake-lease';
import type { ApiClient } from './api-client';
import { readOutcomeOf, writeOutcomeOf } from './outcome-of';
import { resourcePath, watchedResource } from './watched-resources';

/** The Lease of an election over the API. */
export class LeaseAccess implements LeaseStore {
  private readonly resource = watchedResource(LEASES.kind);

  /** @param fallbackMs duration of a Lease that says none. */
  constructor(
    private readonly client: ApiClient,
    private readonly clock: Clock,
    private readonly place: { readonly namespace: string; readonly name: string },
    private readonly fallbackMs: number,
  ) {}

  get name(): string {
    return `${this.place.namespace}/${this.place.name}`;
  }

  async read(timeoutMs: number): Promise<ReadOutcome<ReadLease>> {
    const path = resourcePath(this.resource, this.place.namespace, this.place.name);
    const answer = await this.client.request({ method: 'GET', path, timeoutMs });
    return readOutcomeOf(answer, (body) => readLeaseObject(body as Parameters<typeof readLeaseObject>[0], this.fallbackMs));
  }

  async write(record: LeaseRecord, version: string | undefined, timeoutMs: number): Promise<WriteOutcome> {
    const { namespace, name } = this.place;
    const body = leaseObject(this.place, record, version, this.clock.now());
    const answer =
      version === undefined
        ? await this.client.request({ method: 'POST', path: resourcePath(this.resource, namespace), body, timeoutMs })
        : await this.client.request({ method: 'PUT', path: resourcePath(this.resource, namespace, name), body, timeoutMs });
    return writeOutcomeOf(answer, []);
  }
}
