import type { RouterConfig } from '../../../src/config/router-config';
import type { DeadlineWheel } from '../relay/deadline-wheel';
import type { IncomingRequest, ReadRequest, RequestHead } from '../request';
import type { Reservations } from '../reservations';
import type { BodyBudget } from './body-budget';
import { type ParsedBody, parseBody, parseNow, SLICE_BYTES } from './parse-body';
import { parseForm } from './parse-form';
import { type BodyLimits, readBody } from './read-body';
import { RequestPolicy } from './request-policy';

/** Reads and parses request bodies within their limits. */
export class RequestReader {
  private limits!: BodyLimits;
  private policy!: RequestPolicy;

  constructor(
    private readonly config: Pick<RouterConfig, 'limits' | 'deadlines' | 'requests'>,
    private readonly budget: BodyBudget,
    private readonly wheel: DeadlineWheel,
  ) {
    this.configChanged();
  }

  /** Reads its configuration anew. */
  configChanged(): void {
    const { limits, deadlines, requests } = this.config;
    this.limits = { bodyBytes: limits.bodyBytes, requestBodyMs: deadlines.requestBodyMs };
    this.policy = new RequestPolicy(requests);
  }

  /** @throws RouterError of the body's limits, its form, and what it may ask for. */
  async read(incoming: IncomingRequest, head: RequestHead, reservations: Reservations): Promise<ReadRequest> {
    incoming.letBodyCome();
    const body = await readBody(incoming, this.limits, this.budget, this.wheel, reservations);
    if (head.api.body === 'none') return { head, body: NO_BYTES, parsed: NO_BODY };
    const maxDepth = this.config.limits.jsonDepth;
    let parsed =
      head.api.body === 'json' && body.length <= SLICE_BYTES
        ? parseNow(body, head.api, { maxDepth })
        : await this.parse(head, body, undefined);
    const { trace } = incoming;
    trace.model = parsed.model;
    const { allowed, checkMedia } = this.policy.of(parsed.model);
    if (parsed.guarded?.some((name) => allowed.has(name)) === true) parsed = await this.parse(head, body, allowed);
    if (checkMedia !== undefined) await checkMedia(parsed.promptSpans, nextTurn);
    trace.streams = parsed.streams;
    trace.inputTokens = parsed.promptTokens;
    trace.parsedAtMs = this.wheel.clock.monotonic();
    return { head, body, parsed };
  }

  private parse(head: RequestHead, body: Buffer, allowed: ReadonlySet<string> | undefined): Promise<ParsedBody> {
    if (head.api.body === 'multipart') return parseForm(head, body, allowed, nextTurn);
    const maxDepth = this.config.limits.jsonDepth;
    return parseBody(body, head.api, allowed === undefined ? { maxDepth } : { maxDepth, allowed }, nextTurn);
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Requests that name what they mean in their path. */
const NO_BODY: ParsedBody = {
  model: '',
  modelSpan: undefined,
  streams: false,
  wantsUsage: true,
  promptSpans: [],
  promptTokens: 1,
  edits: [],
};

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
