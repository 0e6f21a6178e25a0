import type { Column } from '../table';

/** How objects of one kind are shown: as rows for people, and as documents for programs. */
export interface TableOf<Row> {
  /** A column with `isWide` is left out unless everything is asked for. */
  readonly columns: readonly (Column<Row> & { readonly isWide?: true })[];
  readonly document: (row: Row) => object;
}
