/**
 * What an answer's `Retry-After` asks for, in milliseconds. Only its form in seconds is read (RFC 9110 §10.2.3): engines and what stands
 * before them write that one, and a date would need a clock that both share.
 *
 * @param headers name, value, name, value, names in lower case.
 * @returns undefined where nothing is asked for.
 */
export function retryAfterMs(headers: readonly string[]): number | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] !== 'retry-after') continue;
    const asked = headers[index + 1]!.trim();
    return /^\d{1,9}$/.test(asked) ? 1000 * Number(asked) : undefined;
  }
  return undefined;
}
