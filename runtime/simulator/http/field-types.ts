import { isObject } from './json-body';

/** Types of body fields that both engines check with pydantic. */
export type FieldType = 'float' | 'int' | 'bool' | 'string' | 'list' | 'object';

export interface Mismatch {
  readonly type: string;
  readonly msg: string;
}

/** @returns what pydantic says of a value that is not of the type; undefined when it is. Texts that are numbers pass as numbers. */
export function mismatch(type: FieldType, value: unknown): Mismatch | undefined {
  switch (type) {
    case 'float':
    case 'int': {
      const name = type === 'float' ? 'number' : 'integer';
      if (typeof value === 'string') {
        if (value.trim() !== '' && Number.isFinite(Number(value))) return undefined;
        return {
          type: `${type}_parsing`,
          msg: `Input should be a valid ${name}, unable to parse string as ${type === 'float' ? 'a number' : 'an integer'}`,
        };
      }
      if (typeof value === 'boolean') return undefined;
      if (typeof value !== 'number') return { type: `${type}_type`, msg: `Input should be a valid ${name}` };
      if (type === 'int' && !Number.isInteger(value)) {
        return { type: 'int_from_float', msg: 'Input should be a valid integer, got a number with a fractional part' };
      }
      return undefined;
    }
    case 'bool':
      return typeof value === 'boolean' || value === 0 || value === 1
        ? undefined
        : { type: 'bool_type', msg: 'Input should be a valid boolean' };
    case 'string':
      return typeof value === 'string' ? undefined : { type: 'string_type', msg: 'Input should be a valid string' };
    case 'list':
      return Array.isArray(value) ? undefined : { type: 'list_type', msg: 'Input should be a valid list' };
    case 'object':
      return isObject(value) ? undefined : { type: 'dict_type', msg: 'Input should be a valid dictionary' };
  }
}

/** A number that may have come as text, which pydantic takes. */
export function numberOf(value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : Number(value);
}
