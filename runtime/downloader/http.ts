import { setTimeout as wait } from 'node:timers/promises';
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici';

/** A head and a body that is read once. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Dispatcher.ResponseData['body'];
}

/** What may go away by itself: a connection that broke, a server that is busy or fails. */
export class PassingError extends Error {
  override readonly name = 'PassingError';

  /** @param waitMs as the server asks. */
  constructor(
    message: string,
    readonly waitMs: number | undefined = undefined,
  ) {
    super(message);
  }
}

const MAX_REDIRECTS = 5;
const SILENCE_MS = 30_000;
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);
const LONGEST_WAIT_MS = 300_000;

/** Asks over HTTP, through the proxies that the environment names. */
export class Http {
  private readonly dispatcher = new EnvHttpProxyAgent({ headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS });

  /** @param token sent to the host of `origin` alone: a redirect elsewhere has its own signature in the URL. */
  constructor(
    private readonly origin: string,
    private readonly token: string | undefined,
  ) {}

  /**
   * GETs, and follows redirects.
   *
   * @throws PassingError for what a later try may mend.
   */
  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    let at = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const isOwn = new URL(at).host === new URL(this.origin).host;
      const credentials: Record<string, string> =
        isOwn && this.token !== undefined ? { authorization: `Bearer ${this.token}` } : {};
      const answer = await request(at, {
        dispatcher: this.dispatcher,
        headers: { 'user-agent': 'kvasir-downloader', ...headers, ...credentials },
      }).catch((error: unknown) => {
        throw new PassingError(`${hostOf(at)} ${reasonOf(error)}`);
      });
      const { statusCode: status } = answer;
      const location = answer.headers.location;
      if (status >= 300 && status < 400 && typeof location === 'string') {
        await answer.body.dump();
        at = new URL(location, at).href;
        continue;
      }
      if (PASSING.has(status)) {
        await answer.body.dump().catch(() => undefined);
        throw new PassingError(`${hostOf(at)} answered ${status}`, retryAfterMs(answer.headers['retry-after']));
      }
      return { status, headers: answer.headers, body: answer.body };
    }
    throw new PassingError(`${hostOf(url)} redirected more than ${MAX_REDIRECTS} times`);
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }
}

/** Tries again what fails in passing. */
export class Retries {
  private failures = 0;

  /** @param most failures one after the other without any progress. @param firstMs wait after the first, doubled each time up to 30 s. */
  constructor(
    private readonly most = 8,
    private readonly firstMs = 1_000,
    private readonly onRetry: (error: PassingError, waitMs: number) => void = () => undefined,
  ) {}

  /** Something came: what failed before does not count any more. */
  progressed(): void {
    this.failures = 0;
  }

  /** @throws what `work` threw, when it is not passing or was tried often enough. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof PassingError) || ++this.failures > this.most) throw error;
        const waitMs = error.waitMs ?? Math.min(30_000, this.firstMs * 2 ** (this.failures - 1)) * (0.5 + Math.random() / 2);
        this.onRetry(error, waitMs);
        await wait(waitMs);
      }
    }
  }
}

/** @returns undefined when it is no number of seconds and no date. */
function retryAfterMs(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^\d+$/.test(value) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_WAIT_MS, Math.max(0, ms));
}

export function hostOf(url: string): string {
  return new URL(url).host;
}

export function reasonOf(error: unknown): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  return code ?? message ?? String(error);
}
