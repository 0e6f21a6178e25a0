/** Freezes `value` and all within it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) {
    if (typeof part === 'object') deepFreeze(part);
  }
  return Object.freeze(value);
}
