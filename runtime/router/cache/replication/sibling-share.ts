import type { Clock } from '../../../lib/clock';
import type { LedgerEntry } from '../../endpoints/in-flight-ledger';
import type { LiveEndpoint } from '../../endpoints/live-endpoint';
import type { PrefixIndex, PrefixReservation } from '../prefix-index';
import type { KnownEndpoints } from './known-endpoints';
import type { PlaceTable } from './place-table';
import type { DispatchRecord, ReplicationRecord } from './record';

export interface SiblingShareOptions {
  /** That of the ledgers. */
  readonly clock: Clock;
  readonly index: PrefixIndex;
  readonly endpoints: KnownEndpoints;
  readonly places: readonly PlaceTable[];
}

interface RemoteDispatch {
  readonly record: DispatchRecord;
  readonly endpoint: string;
  isPrefilled: boolean;
  /** Absent while this router does not know the pod. */
  taken: { readonly entry: LedgerEntry; readonly reservation: PrefixReservation } | undefined;
}

/**
 * What one sibling has in flight, as entries of this router's own ledgers and index: a decision sees one queue per pod, whoever filled it.
 * Everything is given back when the sibling says so, or at once when it is gone.
 */
export class SiblingShare {
  private readonly ids = new Map<number, string>();
  private readonly open = new Map<number, RemoteDispatch>();
  isLeaving = false;

  constructor(private readonly options: SiblingShareOptions) {}

  /** Its requests in flight. */
  get running(): number {
    return this.open.size;
  }

  /** Takes over what happened. @returns whether the sibling is still there. */
  apply(records: readonly ReplicationRecord[]): boolean {
    for (const record of records) {
      if (record.kind === 'left') return false;
      this.applyOne(record);
    }
    return true;
  }

  /** Brings the share in line with all that the sibling has: what went on all the time keeps its place in the queue. */
  replace(records: readonly ReplicationRecord[]): void {
    const present = new Set<number>();
    for (const record of records) if (record.kind === 'dispatch') present.add(record.id);
    for (const id of [...this.open.keys()]) if (!present.has(id)) this.end(id, true);
    for (const record of records) this.applyOne(record);
  }

  /** This router got to know a pod. */
  appeared(live: LiveEndpoint): void {
    for (const dispatch of this.open.values()) {
      if (dispatch.taken !== undefined || dispatch.endpoint !== live.endpoint.id) continue;
      this.take(dispatch, live);
      if (dispatch.isPrefilled) this.prefill(dispatch);
    }
  }

  /** The sibling is gone. Its engines' work was cut with it, as far as prompts were not yet computed. */
  drop(): void {
    for (const id of [...this.open.keys()]) this.end(id, false);
  }

  private applyOne(record: ReplicationRecord): void {
    switch (record.kind) {
      case 'endpoint':
        this.ids.set(record.number, record.id);
        return;
      case 'dispatch':
        this.dispatch(record);
        return;
      case 'prefilled': {
        const dispatch = this.open.get(record.id);
        if (dispatch !== undefined) this.prefill(dispatch);
        return;
      }
      case 'ended':
        this.end(record.id, record.isKept);
        return;
      case 'held': {
        const live = this.options.endpoints.get(this.ids.get(record.endpoint) ?? '');
        if (live !== undefined) this.options.index.restore(live.endpoint.slot, record.words, record.blockBytes);
        return;
      }
      case 'session':
      case 'response':
      case 'forgotten':
        // They stay when the sibling goes: what is in the pod is there for all.
        for (const table of this.options.places) table.take(record);
        return;
      case 'leaving':
        this.isLeaving = true;
        return;
      case 'left':
        return;
    }
  }

  private dispatch(record: DispatchRecord): void {
    const endpoint = this.ids.get(record.endpoint);
    if (endpoint === undefined || this.open.has(record.id)) return;
    const dispatch: RemoteDispatch = { record, endpoint, isPrefilled: false, taken: undefined };
    this.open.set(record.id, dispatch);
    const live = this.options.endpoints.get(endpoint);
    if (live !== undefined) this.take(dispatch, live);
  }

  private take(dispatch: RemoteDispatch, live: LiveEndpoint): void {
    const { clock, index } = this.options;
    const { words, adapter } = dispatch.record;
    dispatch.taken = {
      entry: live.ledger.dispatch(dispatch.record, clock.monotonic()),
      reservation: index.reserve({ count: words.length / 2, words }, live.endpoint.slot),
    };
    if (adapter !== undefined) live.adapterUsed(adapter);
  }

  private prefill(dispatch: RemoteDispatch): void {
    dispatch.isPrefilled = true;
    dispatch.taken?.entry.prefilled(this.options.clock.monotonic());
    dispatch.taken?.reservation.confirm();
  }

  private end(id: number, isKept: boolean): void {
    const dispatch = this.open.get(id);
    if (dispatch === undefined) return;
    this.open.delete(id);
    const { taken } = dispatch;
    if (taken === undefined) return;
    taken.entry.close(this.options.clock.monotonic());
    if (isKept) taken.reservation.confirm();
    else taken.reservation.withdraw();
  }
}
