const NAMES: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'cache-control',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-version',
  'openai-processing-ms',
  'request-id',
]);
const PREFIXES = ['x-ratelimit-', 'anthropic-ratelimit-'] as const;

/**
 * What of a provider's headers reaches the client: its type, and what official clients act on. Cookies, account names and what concerns
 * the provider's own host (`alt-svc`, `strict-transport-security`) end here.
 *
 * @param headers name, value, name, value, in lower case.
 */
export function answerHeaders(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    if (NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix))) kept.push(name, headers[index + 1]!);
  }
  return kept;
}
