/** Members of a JSON object of which nothing is known yet. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** The members of an object; those of an empty one for anything else. */
export function fieldsOf(value: unknown): JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonFields) : {};
}

/** The elements of a list; none for anything else. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text; undefined for anything else. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A count of tokens; 0 for anything else. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** Without the members that are undefined or null: providers refuse a null where they know no such member. */
export function present(fields: JsonFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
