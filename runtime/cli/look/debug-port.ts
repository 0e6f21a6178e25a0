import { type Finding, KvasirError } from '../../../src/errors';
import { formatAddress, type ListenAddress } from '../../lib/http-listen';

/** Longest time for one page. */
const PAGE_TIMEOUT_MS = 10_000;

/** Debug pages of one running router or autoscaler. */
export class DebugPort {
  /** `host:port`. */
  readonly name: string;

  /** @param remedy what to do when nobody answers there. */
  constructor(
    address: ListenAddress,
    private readonly flag: string,
    private readonly remedy: string,
  ) {
    this.name = formatAddress(address);
  }

  /** @throws KvasirError `debug/unreachable`, `debug/no-page` (an image of another version, or no debug port at all). */
  async page<T>(path: string): Promise<T> {
    const response = await fetch(`http://${this.name}${path}`, { signal: AbortSignal.timeout(PAGE_TIMEOUT_MS) }).catch(
      (error: unknown) => {
        throw this.error('debug/unreachable', `nobody answers there (${reasonOf(error)})`, this.remedy, error);
      },
    );
    const text = await response.text();
    if (response.ok && response.headers.get('content-type')?.includes('json') === true) return JSON.parse(text) as T;
    throw this.error(
      'debug/no-page',
      `it has no ${path} (${response.status})`,
      'give the debug port of an image of this version',
    );
  }

  private error(code: 'debug/unreachable' | 'debug/no-page', message: string, remedy: string, cause?: unknown): KvasirError {
    const finding: Omit<Finding, 'severity'> = { code, field: `${this.flag} ${this.name}`, message, remedy };
    return new KvasirError(finding, { cause });
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { readonly cause?: { readonly code?: string }; readonly message?: string };
  return cause?.code ?? message ?? String(error);
}
