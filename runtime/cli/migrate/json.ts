export type JsonObject = Readonly<Record<string, unknown>>;

/** `value` without null fields, which are as good as absent in a manifest. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)])) as T;
}
