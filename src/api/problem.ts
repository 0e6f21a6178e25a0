import type { Finding } from '../errors';

/** A finding about one object, before it is known which file and object it is about. `field` is a dotted path. */
export type Problem = Omit<Finding, 'file' | 'object'> & { readonly field: string };

export const error = (field: string, code: string, message: string, remedy: string): Problem => ({
  code,
  severity: 'error',
  field,
  message,
  remedy,
});

export const warning = (field: string, code: string, message: string, remedy: string): Problem => ({
  code,
  severity: 'warning',
  field,
  message,
  remedy,
});

/** A value as messages show it: JSON, cut when it is long. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > 80 ? `${json.slice(0, 77)}...` : json;
}
