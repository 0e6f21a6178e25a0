import type { PlaceRecord } from './place-record';

/** Remembers places, and tells sibling routers of them. */
export interface PlaceTable {
  /** Takes over what a sibling says, if it is of this table's kinds. It is not told on. */
  take(record: PlaceRecord): void;
  /** What it remembers, most recently used first; may be walked in steps while it changes. */
  recent(): Iterable<PlaceRecord>;
  /** Calls `tell` for each change that is made here, from now on. */
  share(tell: (record: PlaceRecord) => void): void;
}
