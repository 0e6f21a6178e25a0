import type { RouterConfig } from '../../../src/config/router-config';
import type { DeadlineWheel } from '../relay/deadline-wheel';
import type { IncomingRequest, ReadRequest, RequestHead } from '../request';
import type { Reservations } from '../reservations';
import type { BodyBudget } from './body-budget';
import { parseBody, parseNow, SLICE_BYTES } from './parse-body';
import { type BodyLimits, readBody } from './read-body';

/** Reads and parses request bodies within their limits. */
export class RequestReader {
  private readonly limits: BodyLimits;

  constructor(
    private readonly config: Pick<RouterConfig, 'limits' | 'deadlines'>,
    private readonly budget: BodyBudget,
    private readonly wheel: DeadlineWheel,
  ) {
    this.limits = { bodyBytes: config.limits.bodyBytes, requestBodyMs: config.deadlines.requestBodyMs };
  }

  /** @throws RouterError of the body's limits and its form. */
  async read(incoming: IncomingRequest, head: RequestHead, reservations: Reservations): Promise<ReadRequest> {
    incoming.letBodyCome();
    const body = await readBody(incoming, this.limits, this.budget, this.wheel, reservations);
    const { jsonDepth } = this.config.limits;
    const parsed =
      body.length <= SLICE_BYTES ? parseNow(body, head.api, jsonDepth) : await parseBody(body, head.api, jsonDepth, nextTurn);
    const { trace } = incoming;
    trace.model = parsed.model;
    trace.streams = parsed.streams;
    trace.inputTokens = parsed.promptTokens;
    trace.parsedAtMs = this.wheel.clock.monotonic();
    return { head, body, parsed };
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
